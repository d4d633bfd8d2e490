"""Load the hooks when a Python process starts under `flyball run`, then the `sitecustomize` that it would load without.

Every Python that the command starts reads this file, also one without the hooks: it must be valid in all versions.
"""

import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  pathlib takes longer than all of this

if sys.version_info >= (3, 11):  # noqa: UP036  see above
    try:
        import _flyball_after_import  # type: ignore[import-not-found]  # it lies beside this file

        _flyball_after_import.install(_FOLDER)
    except Exception:  # noqa: BLE001, S110  the program must start in any case
        pass

sys.path[:] = [path for path in sys.path if path != _FOLDER]
sys.path_importer_cache.pop(_FOLDER, None)

# Where there is none, the site module ignores the error. `sys.modules` is then as if this file had not been there.
del sys.modules["sitecustomize"]
import sitecustomize  # type: ignore[import-not-found]  # noqa: E402, F401
