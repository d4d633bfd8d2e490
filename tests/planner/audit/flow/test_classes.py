"""What is known of the project's classes without following any code."""

from flyball_planner.audit.definition import Definition
from flyball_planner.audit.flow.classes import Classes
from flyball_planner.audit.flow.values import Tag
from flyball_planner.audit.project import Project
from tests.planner.audit.projects import project_of

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
    """Over several steps, each once; a class that names itself ends there."""
    classes = Classes(project_of(FILES))
    assert classes.heirs("Base") == ["Base", "Model", "MyLoss"]
    assert classes.heirs("Circle") == ["Circle"]
