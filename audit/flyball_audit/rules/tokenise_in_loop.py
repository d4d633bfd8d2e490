"""`tokenise-in-loop`: texts become tokens in the training loop, while the device waits."""

import ast
import re
from collections.abc import Iterator

from flyball_audit.doubts import is_making
from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.flow.values import Tag
from flyball_audit.guards import Rarity
from flyball_audit.loaders import Loader, loaders
from flyball_audit.loops import Kind, Turns
from flyball_audit.module import Function, last_name
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region
from flyball_audit.rule import LIKELY, SUSPECTED, Match, Rule

_ENCODING = re.compile(
    r"^(transformers\.\w*Tokenizer\w*(\.from_pretrained)?|tiktoken\.\w+|sentencepiece\.SentencePieceProcessor|tokenizers\.[\w.]+)\(\)"
    r"(\.(encode\w*|batch_encode_plus|tokenize|EncodeAs\w+|encode_as_\w+))?$"
    r"|^(?!nltk\.|tokenize\.)\w[\w.]*\.(tokenize|get_tokenizer\(\))$"
)
_BY_NAME = re.compile(
    r"^(\w+\.)*(\w+_)?tok(eni[sz]er)?(\.(encode|encode_plus|encode_batch|batch_encode_plus|tokenize))?$"
    r"|^(\w+\.)*((\w+_)?tokeni[sz]e(_\w+)?|(word|sent)_tokenize|text_to_(tensor|ids|tokens))$"
)
"""What everyone calls one, where nothing else is known of it."""

_OF_OWN = re.compile(r"^(?!nltk\.|tokenize\.)\w[\w.]*\.(\w+_)?tokeni[sz]e_\w+$|^(?!nltk\.)\w[\w.]*\.\w+_tokeni[sz]e$")
"""A function of a file that is not at hand, as its name tells."""

_LAST = re.compile(r"tokeni[sz]e|^encod|^batch_encode|^Encode|^tok$|^text_to_|processor$", re.IGNORECASE)
"""Of what is called: any variable that holds a tokeniser, or its methods."""

_PROCESSOR = re.compile(r"(^|[._])processor$")
_TEXTS = frozenset({"text", "padding", "truncation"})
"""What a processor of texts and pictures is told of texts."""

_GENERATING = frozenset({"generate", "batch_decode", "decode", "sample"})
"""The loop makes texts itself: they cannot be tokenised ahead."""

_OFTEN = frozenset({None, Rarity.ACCUMULATED, Rarity.CONFIG})


def look(module: Module, project: Project) -> Iterator[Match]:
    """Calls of tokenisers in each turn of the module's loops, and in its models."""
    for turns in project.loops.training_of(module):
        yield from _in(project, turns, certain=True)
    others = (*project.loops.evaluation_of(module), *project.loops.supposed_of(module, Kind.STEP))
    for turns in others:
        yield from _in(project, turns, certain=False)
    for function in module.functions:
        owner = project.flow.owner(module, function) if function.name == "forward" else None
        if owner is not None and owner.has(Tag.MODEL):
            yield from _in(project, Turns(module, function, Kind.STEP), certain=False)
    for loader in loaders(module, project):
        if loader.misses("num_workers") or loader.constant("num_workers") == 0:
            yield from _in_samples(project, loader)


def _in_samples(project: Project, loader: Loader) -> Iterator[Match]:
    """Calls of tokenisers for each sample of a loader that has no workers."""
    getter = project.flow.method(loader.dataset_class, "__getitem__") if loader.dataset_class is not None else None
    region = Region(getter.module, getter.node) if getter is not None and isinstance(getter.node, Function) else None
    for call in region.all(ast.Call) if region is not None else ():
        if region is not None and _encodes(project, region, call) is not None and region.rarity(call) in _OFTEN:
            yield Match(
                call,
                f"`{region.module.quote(call)}` tokenises text one sample at a time, again in each epoch",
                f"the loader at {loader.module.path}:{loader.call.lineno} has no workers, so the training process "
                "does it between two steps",
                SUSPECTED,
                Severity.NOTE,
                module=region.module,
            )


def _in(project: Project, turns: Turns, *, certain: bool) -> Iterator[Match]:
    regions = project.loops.regions(turns)
    making = [region for region in regions if any(last_name(each) in _GENERATING for each in region.all(ast.Call))]
    if any(region.root is turns.node for region in making):
        return
    for region in (each for each in regions if each not in making):
        for call in region.all(ast.Call):
            confidence = _encodes(project, region, call)
            rarity = region.rarity(call) if confidence is not None else None
            if confidence is not None and (rarity in _OFTEN or _is_of_kind(region, call)):
                plain = certain and confidence == LIKELY and rarity in _OFTEN and not making
                yield _match(turns, region, call, plain=plain)


def _is_of_kind(region: Region, call: ast.Call) -> bool:
    """Whether the conditions around a call ask only which kind of model or input there is: the same in each turn."""
    return all(each.rarity in _OFTEN or "isinstance" in ast.unparse(each.test) for each in region.guards(call))


def _match(turns: Turns, region: Region, call: ast.Call, *, plain: bool) -> Match:
    return Match(
        call,
        f"`{region.module.quote(call)}` tokenises text in each " + ("training step" if plain else "step that runs it"),
        f"the code at {turns.module.path}:{turns.node.lineno} does this between two steps, in one process",
        LIKELY if plain else SUSPECTED,
        None if plain else Severity.NOTE,
        module=region.module,
    )


def _encodes(project: Project, region: Region, call: ast.Call) -> float | None:
    """How sure it is that a call tokenises a batch's text."""
    if not _LAST.search(last_name(call)):
        return None
    if call.args and isinstance(call.args[0], ast.Constant):
        return None
    path = project.origins.of(region.module, call.func)
    if path is not None and _ENCODING.search(path):
        return SUSPECTED if is_making(region) else LIKELY
    if path is not None:
        return SUSPECTED if _OF_OWN.search(path) and not project.flow.callees(region.module, call) else None
    value = project.flow.value(region.module, call.func)
    if value.has(Tag.MODEL):
        return None  # images have tokenisers too, and those are trained
    name = ast.unparse(call.func).removeprefix("self.")
    if _PROCESSOR.search(name):
        return SUSPECTED if _TEXTS.intersection(each.arg for each in call.keywords) else None
    return SUSPECTED if _BY_NAME.match(name) and not project.flow.callees(region.module, call) else None


RULE = Rule(
    id="tokenise-in-loop",
    severity=Severity.WARNING,
    summary="Text is tokenised in the training loop.",
    cause="The process of the training loop tokenises each batch again in every epoch, while the device waits.",
    change="Tokenise in advance (`dataset.map(..., batched=True, num_proc=N)`), or in the loader's `collate_fn` "
    "with workers.",
    expected="up to the whole time of tokenisation: without it in the loop, a ModernBERT trained 3.3 times as fast "
    "on an H100",
    source="30 % of the speed with tokenisation in the loop: https://github.com/AnswerDotAI/ModernBERT/issues/236; "
    "how to avoid it: https://huggingface.co/learn/nlp-course/chapter5/3",
    before="for texts, labels in loader:\n    inputs = tokenizer(texts, padding=True, return_tensors='pt')",
    after="data = data.map(lambda rows: tokenizer(rows['text']), batched=True, num_proc=8)\n"
    "for inputs in DataLoader(data, num_workers=4): ...",
    look=look,
    gain=Gain(Time.INPUT, 3.3),
)
