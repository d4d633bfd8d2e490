"""What is known of the project's classes without following any code."""

from flyball_audit.definition import Definition
from flyball_audit.flow.classes import Classes
from flyball_audit.flow.values import Tag
from flyball_audit.project import Project
from tests.audit.projects import project_of

FILES = {
    "base.py": "from torch import nn\nclass Base(nn.Module):\n    def run(self): pass\n    def stop(self): pass\n",
    "main.py": "from base import Base\nclass Model(Base):\n    def run(self): pass\nclass MyLoss(Base): pass\n"
    "class Plain: pass\nclass Circle(Circle): pass\n",
}


def _class(project: Project, name: str) -> Definition:
    found = project.find(name)
    assert found is not None
    return found


def test_a_class_is_what_it_derives_from() -> None:
    """Through other files of the project, up to the library's class."""
    project = project_of(FILES)
    classes = Classes(project)
    model = _class(project, "main.Model")
    assert [getattr(each.node, "name", "") for each in classes.lineage(model)] == ["Model", "Base"]
    assert "torch.nn.Module" in classes.bases(model)
    assert classes.is_module(model)
    assert classes.instance_of(model).tags == {Tag.MODEL}
    assert classes.instance_of(_class(project, "main.MyLoss")).has(Tag.CRITERION)
    assert not classes.instance_of(_class(project, "main.Plain")).tags


def test_the_nearest_method_counts() -> None:
    """A class's own method before the inherited one; none where no class has it."""
    project = project_of(FILES)
    classes = Classes(project)
    model = _class(project, "main.Model")
    own, inherited = classes.method(model, "run"), classes.method(model, "stop")
    assert own is not None
    assert own.module.name == "main"
    assert inherited is not None
    assert inherited.module.name == "base"
    assert classes.method(model, "absent") is None


def test_heirs_are_those_that_name_it_as_their_base() -> None:
    """Over several steps, each once; a class that names itself ends there; files that know nothing of it are others."""
    project = project_of(FILES | {"apart.py": "class Elsewhere(Base): pass\n"})
    classes, main = Classes(project), project.modules["main"]
    assert classes.heirs("Base", main) == ["Base", "Model", "MyLoss"]
    assert classes.heirs("Circle", main) == ["Circle"]
    assert classes.heirs("Base", project.modules["apart"]) == ["Base", "Elsewhere"]


def test_the_methods_of_heirs_are_known() -> None:
    """A template's step is that of the class that fills it in, or of one of a few."""
    files = {
        "base.py": "class Loop:\n    def step(self): raise NotImplementedError\n    def stop(self): pass\n",
        "main.py": "from base import Loop\nclass Mine(Loop):\n    def step(self): return 1\n"
        "    def stop(self): return 2\n"
        "class Deeper(Mine):\n    def stop(self): return 3\nclass Other:\n    def step(self): return 4\n",
    }
    project = project_of(files)
    classes = Classes(project)
    loop = _class(project, "base.Loop")
    (found,) = classes.of_heirs(loop, "step")
    assert found.module.name == "main"
    assert found.node.lineno == 3
    assert [each.node.lineno for each in classes.of_heirs(loop, "stop")] == [4, 6]
    assert classes.of_heirs(loop, "absent") == ()


def test_a_module_of_settings_alone_learns_nothing() -> None:
    """One that makes parts, or is handed what may be one, does."""
    text = """
        from torch import nn
        class Window(nn.Module):
            def __init__(self, size=8, *, centre=True): self.size = size
            def forward(self, x): return x[: self.size]
        class Handed(nn.Module):
            def __init__(self, body, size=8): self.body = body
        class Made(nn.Module):
            def __init__(self, size=8): self.body = nn.Linear(size, size)
        class Registered(nn.Module):
            def __init__(self): self.register_parameter("scale", None)
        class Derived(Window): pass
        class Any(nn.Module):
            def __init__(self, **parts): self.parts = parts
        """
    project = project_of({"main.py": text})
    names = ("Window", "Handed", "Made", "Registered", "Any")
    classes = Classes(project)
    assert [each for each in names if classes.learns_nothing(_class(project, f"main.{each}"))] == ["Window"]
