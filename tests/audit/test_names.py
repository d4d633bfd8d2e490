"""Names are followed through imports, aliases and re-exports."""

import ast

from flyball_audit.module import Module
from tests.audit.projects import module_of, project_of


def _qualified(module: Module, code: str) -> str | None:
    found = [each for each in ast.walk(module.tree) if isinstance(each, ast.expr) and ast.unparse(each) == code]
    return module.qualified(found[-1])


def test_imports_aliases_and_builtins_have_full_names() -> None:
    """However a function was imported, its name is the library's."""
    _, module = module_of(
        """
        import torch, torch.nn as nn, numpy as np
        from torch.nn import functional as F
        from torch.utils.data.dataloader import DataLoader as Loader
        from pytorch_lightning import Trainer
        cross = torch.nn.functional
        F.gelu, cross.relu, nn.Linear, Loader, Trainer, print, np.mean
        """
    )
    names = ["F.gelu", "cross.relu", "nn.Linear", "Loader", "Trainer", "print", "np.mean"]
    assert [_qualified(module, each) for each in names] == [
        "torch.nn.functional.gelu", "torch.nn.functional.relu", "torch.nn.Linear", "torch.utils.data.DataLoader",
        "lightning.Trainer", "builtins.print", "numpy.mean",
    ]  # fmt: skip


def test_variables_and_arguments_have_no_full_name() -> None:
    """An argument that is called like a module shadows it."""
    _, module = module_of("import torch\n\ndef f(torch, x):\n    return torch.zeros(x)\n")
    assert _qualified(module, "torch.zeros") is None
    assert _qualified(module, "x") is None


def test_re_exports_lead_to_the_definition() -> None:
    """What a package hands on is named where it is defined; libraries keep their names through it."""
    project = project_of({
        "app/__init__.py": "from .model import Net\nfrom torch.nn import Linear\n",
        "app/model.py": "class Net:\n    def forward(self):\n        pass\n",
        "train.py": "import app\nfrom app import Net, Linear\nNet, app.Net, Linear\n",
    })  # fmt: skip
    module = project.modules["train"]
    assert [_qualified(module, each) for each in ("Net", "app.Net", "Linear")] == [
        "app.model.Net",
        "app.model.Net",
        "torch.nn.Linear",
    ]
    found = project.find("app.model.Net.forward")
    assert found is not None
    assert found.module.path == "app/model.py"


_GIVEN_OUT = ("Learner", "Twice", "Rows", "build", "Hidden", "DataLoader")


def test_a_package_without_its_init_gives_out_what_alone_has_a_name_below_it() -> None:
    """Not what two files define, what lies elsewhere, what a library has, or where `__init__.py` is at hand."""
    project = project_of({
        "app/learners/base.py": "class Learner:\n    pass\n\n\nclass Twice:\n    pass\n",
        "app/learners/deep/net.py": "def build():\n    pass\n\n\nclass Twice:\n    pass\n",
        "app/shown/__init__.py": "",
        "app/shown/parts.py": "class Hidden:\n    pass\n",
        "app/data/sets.py": "class DataLoader:\n    pass\n\n\nclass Rows:\n    pass\n",
        "app/train.py": "from app.learners import Learner, Twice, Rows, build\nfrom app.shown import Hidden\n"
        "import app.data.sets\nfrom torch.utils.data import DataLoader\n"
        "Learner, Twice, Rows, build, Hidden, DataLoader\n",
    })  # fmt: skip
    (module,) = (each for each in project.modules.values() if each.path == "app/train.py")
    found = {each: project.find(_qualified(module, each)) for each in _GIVEN_OUT}
    paths = {name: each.module.path for name, each in found.items() if each is not None}
    assert paths == {"Learner": "app/learners/base.py", "build": "app/learners/deep/net.py"}
    assert _qualified(module, "DataLoader") == "torch.utils.data.DataLoader"


def test_scripts_import_what_lies_beside_them() -> None:
    """Of two files of one name, an import means the one beside the importer."""
    project = project_of({
        "a/main.py": "from tools import go\ngo\n", "a/tools.py": "def go(): pass\n", "b/tools.py": "def go(): pass\n",
    })  # fmt: skip
    assert _qualified(project.modules["a.main"], "go") == "a.tools.go"


def test_a_package_named_for_a_library_does_not_hide_it() -> None:
    """Python looks into no package for what is imported: `import torch` in `app/torch/` means PyTorch."""
    project = project_of({
        "app/__init__.py": "import app\n", "app/torch/__init__.py": "zeros = 1\n",
        "app/torch/nn.py": "class Linear: pass\n",
        "app/torch/net.py": "import torch\nimport torch.nn as nn\nfrom app.torch.nn import Linear\n"
        "torch.zeros, nn.Linear, Linear\n",
        "lone/torch.py": "def zeros(): pass\n", "lone/main.py": "import torch\ntorch.zeros\n",
    })  # fmt: skip
    net, lone = project.modules["app.torch.net"], project.modules["lone.main"]
    named = [_qualified(net, each) for each in ("torch.zeros", "nn.Linear", "Linear")]
    assert named == ["torch.zeros", "torch.nn.Linear", "app.torch.nn.Linear"]
    assert _qualified(lone, "torch.zeros") == "lone.torch.zeros"


def test_a_function_called_like_its_file_is_found_without_the_package() -> None:
    """Where `__init__.py` is not among the files, `app.data.loader` is the function that `loader.py` holds."""
    files = {"app/data/loader.py": "def loader(): pass\n", "app/run/main.py": "import app\napp.data.loader()\n"}
    project = project_of({f"/src/{path}": text for path, text in files.items()})
    found = project.find("app.data.loader")
    assert found is not None
    assert getattr(found.node, "name", None) == "loader"


def test_circles_of_imports_end() -> None:
    """Modules that hand each other's names on for ever give some name, not an endless search."""
    project = project_of({"a.py": "from b import x\nx\n", "b.py": "from a import x\n"})
    assert isinstance(_qualified(project.modules["a"], "x"), str)


def test_names_that_nothing_binds_mean_what_is_customary() -> None:
    """A cell before, or a star import of a file that is not at hand, bound them; what a file binds is its own."""
    _, module = module_of("loader = DataLoader(data)\nnn = something()\nlayer = nn.Linear(1, 1)")
    calls = {ast.unparse(each): module.qualified(each.func) for each in module.all(ast.Call)}
    assert calls["DataLoader(data)"] == "torch.utils.data.DataLoader"
    assert calls["nn.Linear(1, 1)"] is None


def test_files_of_a_package_know_each_other_by_its_name() -> None:
    """Also where only some of its files are named, and a folder above has the package's name too."""
    folder = "/src/agents/1.2/agents/learners"
    project = project_of(
        {
            f"{folder}/base.py": "class Base: pass",
            f"{folder}/ppo.py": "from agents.learners.base import Base\nclass PPO(Base): pass",
        }
    )
    assert set(project.modules) == {"agents.learners.base", "agents.learners.ppo"}
    assert project.find("agents.learners.base.Base") is not None


def test_star_imports_lead_through_circles_to_the_definition() -> None:
    """Files that import all of each other still tell where a name is defined; the first star that knows it counts."""
    project = project_of({
        "app/one.py": "from .two import *\nfrom .three import *\nhelp_me, unknown, open\n",
        "app/two.py": "from .one import *\nfrom .four import *\n",
        "app/three.py": "from .two import *\ndef help_me():\n    pass\n",
        "app/four.py": "from torch.nn import *\nfrom torch.optim import *\ndef help_me():\n    pass\nLinear, Adam\n",
        "train.py": "",
        "app/five.py": "from .one import *\nhelp_me, Linear\n",
    })  # fmt: skip
    named = {
        path: [_qualified(project.modules[path], name) for name in names]
        for path, names in (
            ("app.one", ["help_me", "unknown", "open"]), ("app.four", ["Linear"]), ("app.five", ["help_me", "Linear"]),
        )
    }  # fmt: skip
    assert named == {
        "app.one": ["app.four.help_me", None, "builtins.open"],
        "app.four": ["torch.nn.Linear"],
        "app.five": ["app.four.help_me", "torch.nn.Linear"],
    }


def test_star_imports_are_searched_once_however_many_ways_lead_to_a_file() -> None:
    """Each of thirty files imports all of the two below it: of a million ways to the lowest, one is gone."""
    files = {f"app/at_{n}.py": f"from .at_{n + 1} import *\nfrom .at_{n + 2} import *\n" for n in range(30)}
    files |= {
        "app/at_30.py": "",
        "app/at_31.py": "def deep():\n    pass\n",
        "train.py": "from app.at_0 import *\ndeep, no\n",
    }
    module = project_of(files).modules["train"]
    assert [_qualified(module, each) for each in ("deep", "no")] == ["app.at_31.deep", None]


def test_a_file_that_imports_its_own_name_means_the_library() -> None:
    """`torch.py` of a package, whether its folder is named or not; itself it is called as Python's table has it."""
    text = "import sys\nimport torch\nme = sys.modules[__name__]\ndef load(): pass\nme.load, torch.load\n"
    for path in ("torch.py", "book/torch.py"):
        files = {path: text, "book/main.py": "from book.torch import load\nload\n"}
        project = project_of(files if "/" in path else {path: text})
        module = next(each for each in project.modules.values() if each.path == path)
        library = [each for each in module.all(ast.Attribute) if ast.unparse(each) == "torch.load"]
        own = [each for each in module.all(ast.Attribute) if ast.unparse(each) == "me.load"]
        assert module.qualified(library[0]) == "torch.load"
        definition = project.find(module.qualified(own[0]))
        assert definition is not None
        assert definition.module is module
        if "/" in path:
            main = next(each for each in project.modules.values() if each.path == "book/main.py")
            assert project.find(main.qualified(main.all(ast.Name)[-1])) == definition
