"""Calls that read like a question to a model that somebody serves, where no library tells whose it is."""

import ast
import re
from typing import TYPE_CHECKING

from flyball_audit.module import Function, Module, last_name
from flyball_audit.names import code_of

if TYPE_CHECKING:
    from flyball_audit.project import Project


def asks_for_one(project: "Project", module: Module, call: ast.Call) -> bool:
    """Whether it reads like asking somebody else for what one text gives."""
    if _asks_model(project, module, call) or _encodes_one(project, module, call):
        return True
    return _hands_list_of_one(module, call) or _hands_service(module, call)


def _hands_list_of_one(module: Module, call: ast.Call) -> bool:
    """Whether what takes a list of texts is handed one, and its only answer taken: `embed_documents([text])[0]`."""
    around = module.parent(call)
    only = call.args[0] if len(call.args) == 1 else None
    one = isinstance(only, ast.List) and len(only.elts) == 1 and not isinstance(only.elts[0], ast.Starred)
    return (
        one
        and isinstance(around, ast.Subscript)
        and around.value is call
        and _LISTING.search(last_name(call)) is not None
    )


_LISTING = re.compile(r"^_?(a?embed|encode|a?embed_(documents|texts|batch)|get_embeddings|embeddings|rerank)$")
"""Names of methods that give a vector, or a score, for each text of a list."""


def _hands_service(module: Module, call: ast.Call) -> bool:
    """Whether a served model's client is handed on with the item, to be asked: `metric.score(row, openai_service)`."""
    if last_name(call)[:1].isupper() or _KEEPING.search(last_name(call)):
        return False
    handed = [*call.args, *(each.value for each in call.keywords)]
    served = [each for each in handed if isinstance(each, ast.Name | ast.Attribute) and _SERVED.search(code_of(each))]
    waits = not isinstance(module.function_of(call), ast.AsyncFunctionDef) or is_awaited(module, call)
    return waits and bool(served) and len(handed) > len(served) and not isinstance(module.parent(call), ast.Expr)


_SERVED = re.compile(
    r"(^|[._])(openai|llm|gpt|chat_?gpt|anthropic|claude|gemini|azure)_?(service|client|api)$", re.IGNORECASE
)
_KEEPING = re.compile(
    r"^_*(set|add|register|init|with|make|build|create|get|isinstance|hasattr|getattr)(_|$)|^(isinstance|getattr)$"
)
"""In names of what keeps a client, or makes something of it."""

_ASKS_MODEL = re.compile(
    r"^(create|generate_content|invoke_model|embed_content|embeddings?|embed|aembed_query|embed_query|embed_text"
    r"|get_(text|query)_embedding|_*(embedding|embed)_(function|func|fn))$"
    r"|^_*(get_|create_|run_|call_|query_|ask_|make_)?(chat_)?completions?$|^_*get_embedding$|^parse$"
    r"|^get_chat_response$|^(call|query|request)_(api|model)$|^answer$"
    r"|^_*(call|query|ask|prompt|invoke|run)_(the_)?(llm|gpt|chat_?gpt|openai|claude|gemini|anthropic)$"
    r"|^(llm|_llm|llm_(provider|client|model|fn|func|call)|chat_llm)$|^(invoke|generate|predict|chat|complete|ask|query)$",
    re.IGNORECASE,
)
"""Names of methods that ask a model, mostly a served one, whoever holds it."""

_OF_OWN_KIND = re.compile(r"^(?!langchain|transformers|openai|anthropic|sentence_transformers|llama_index|torch)\w+\.")
"""A function, or an object, of files that are not at hand, by the path of its import."""

_OF_LLM = re.compile(
    r"(^|[._])(llm|chat_?(model|client)|(llm|openai|gpt|anthropic)_?(client|provider|model)?)"
    r"\.(?!get_|count|bind|with_|eval|to$|train|config|load|save|set|close|token|max_|reset|update)\w+$"
)
"""Whole names of methods that a large model has."""

_OF_API = re.compile(
    r"(^|[._])api\.(get|post|fetch|search|lookup|query)\w+$"
    r"|(^|[._])(\w+_)?client\.(fetch|post|query|search|retrieve|generate|embed|complete|chat|infer|predict)(_\w+)?$",
    re.IGNORECASE,
)
"""Whole names of methods of what is called a service's interface, or its client."""

_SAYS_SO = re.compile(
    r"\.(generate_content|invoke_model|embed_content|embed_query|embed_text|get_(text|query)_embedding)$"
    r"|\.((chat\.)?completions|embeddings|messages|responses)\.create$|embedder\.embed$"
    r"|(^|[._])(embedding|embed)_(function|func|fn)$"
    r"|(^|[._])_*(get_|create_|run_|call_|query_|ask_|make_)?chat_(completions?|response)$|(^|[._])_*get_(embedding|completion)$"
    r"|(^|[._])(call|query|request)_(api|model)$|_(llm|gpt|chat_?gpt|openai|claude|gemini|anthropic)$|(^|[._])(llm|llm_(provider|client|model|fn|func|call))$",
    re.IGNORECASE,
)
"""Whole names that tell by themselves."""

_OF_CLIENT = re.compile(r"client\.(create|embeddings?|embed)$", re.IGNORECASE)
_FOR_MODEL = frozenset({"prompt", "messages", "input", "engine"})
"""Handed to a client by these names, it is for a model."""


def _asks_model(project: "Project", module: Module, call: ast.Call) -> bool:
    """Whether it reads like a question to a model that somebody else holds, and no library tells more of it."""
    said = code_of(call.func)
    reads_so = _ASKS_MODEL.search(last_name(call)) or _OF_LLM.search(said) or _OF_API.search(said)
    path = project.origins.of(module, call.func) if reads_so else ""
    if path is not None and not _OF_OWN_KIND.search(path):
        return False
    if not call.args and not call.keywords:
        return False
    if isinstance(module.function_of(call), ast.AsyncFunctionDef) and not is_awaited(module, call):
        return False
    own = (each.node for each in project.flow.callees(module, call) if isinstance(each.node, Function))
    if any(each.name == last_name(call) for each in own):
        return False  # it is followed to what it asks
    of_client = _OF_CLIENT.search(said) is not None and any(each.arg in _FOR_MODEL for each in call.keywords)
    parses = last_name(call) == "parse" and any(each.arg == "response_format" for each in call.keywords)
    prompted = last_name(call) in _ASKING and _hands_prompt(call)
    by_name = any(each.search(said) for each in (_OF_LLM, _OF_API, _SAYS_SO))
    return of_client or parses or prompted or by_name


_ASKING = frozenset({"generate", "invoke", "complete", "ask", "chat", "answer", "predict"})
_PROMPTS = frozenset({"prompt", "query", "question", "messages", "system_prompt", "user_prompt"})
"""Handed by these names, it is a question to a large model."""


def _hands_prompt(call: ast.Call) -> bool:
    """Whether a question is handed over, as its name tells: of what stands first, that of the variable."""
    first = call.args[0].id if call.args and isinstance(call.args[0], ast.Name) else ""
    return first == "prompt" or any(each.arg in _PROMPTS for each in call.keywords)


def _encodes_one(project: "Project", module: Module, call: ast.Call) -> bool:
    """Whether a model of sentences is handed one text: it takes lists."""
    if last_name(call) != "encode" or not isinstance(call.func, ast.Attribute) or not call.args:
        return False
    path = project.origins.of(module, call.func) or ""
    named = _SENTENCES.search(code_of(call.func.value)) is not None and module.says_any(_OF_TEXTS)
    return path.startswith("sentence_transformers.") or named


_OF_TEXTS = ("SentenceTransformer", "sentence", "embeddings", "embs_", "emb_", "cos_sim")
"""Where one of these stands, what encodes gives vectors of texts."""

_SENTENCES = re.compile(r"embed|sentence|sbert|(^|[._])(model|encoder)$", re.IGNORECASE)


def is_awaited(module: Module, call: ast.Call) -> bool:
    """Whether a call is waited for where it stands; one that is not only begins when it is."""
    return isinstance(module.parent(call), ast.Await | ast.withitem)
