"""`per-sample-requests`: one request to another process for each item, each waiting for its answer."""

import ast
import re
from collections.abc import Iterator

from flyball_planner.audit.finding import Gain, Severity, Time
from flyball_planner.audit.index import nodes_below
from flyball_planner.audit.items import Item, repeated
from flyball_planner.audit.module import Function, last_name
from flyball_planner.audit.names import code_of
from flyball_planner.audit.project import Module, Project
from flyball_planner.audit.rule import LIKELY, SUSPECTED, Match, Rule

_VERBS = r"(get|post|put|patch|delete|head|request|send)"
_SERVICES = (
    r"^(litellm|ollama)\.(Client\(\)\.)?(completion|embedding|chat|generate|embeddings?|embed)$|^replicate\.run$"
    r"|^(cohere|voyageai|mistralai(\.client)?)\.\w+\(\)(\.\w+)*\.(embed|chat|rerank|generate|complete|create)$"
    r"|^(groq|together)\.\w+\(\)(\.\w+)*\.create$|^huggingface_hub\.InferenceClient\(\)\.\w+$"
    r"|^google\.(genai|generativeai)\.(\w+\(\)\.)?([\w.]+\.)?(generate_content|embed_content)$"
    r"|^langchain\w*\.([\w.]*(OpenAI|Anthropic|Ollama|Cohere|Gemini|GenerativeAI|Bedrock|LLM|Hub)\w*\(\))"
    r"\.(invoke|predict|run|embed_query)$"
    r"|^boto3\.(session\.Session\(\)\.)?client\(\)\.(invoke_model|converse|detect_\w+|translate_text|head_object|get_item)$"
)
"""Models that others serve: each answers a list of inputs, or several requests at a time."""

_REQUESTS = re.compile(
    rf"^requests\.(api\.)?{_VERBS}$|^requests\.(sessions\.)?[Ss]ession\(\)\.{_VERBS}$"
    rf"|^httpx\.{_VERBS}$|^httpx\.Client\(\)\.{_VERBS}$"
    r"|^urllib\.request\.urlopen$|^urllib3\.PoolManager\(\)\.(request|urlopen)$|^urllib3\.request$"
    r"|^http\.client\.HTTPS?Connection\(\)\.(request|getresponse)$"
    r"|_pb2_grpc\.\w+Stub\(\)\.\w+$"
    r"|^tritonclient\.(http|grpc)\.InferenceServerClient\(\)\.infer$"
    r"|^openai\.((Azure)?OpenAI\(\)\.)?\w[\w.]*\.(create|parse)$|^anthropic\.Anthropic\w*\(\)\.\w[\w.]*\.create$"
    rf"|{_SERVICES}"
    r"|^ray\.get$"
)
_NAMES = frozenset({
    "get", "post", "put", "patch", "delete", "head", "request", "send", "urlopen", "getresponse", "infer", "create",
    "parse", "completion", "embedding", "chat", "generate", "embeddings", "embed", "run", "rerank", "complete",
    "invoke", "generate_content", "embed_content", "predict", "embed_query", "invoke_model", "converse",
    "translate_text", "head_object", "get_item", "chat_completion", "text_generation", "feature_extraction",
    "detect_sentiment",
})  # fmt: skip
"""Last parts of these; remote procedures have names of their own, with a capital in gRPC."""

_AWAITED = re.compile(
    rf"^aiohttp\.ClientSession\(\)\.{_VERBS}$|^httpx\.AsyncClient\(\)\.{_VERBS}$"
    r"|^openai\.Async(Azure)?OpenAI\(\)\.\w[\w.]*\.(create|parse)$|^anthropic\.AsyncAnthropic\(\)\.\w[\w.]*\.create$"
)
"""Calls that only begin when they are awaited: handed to a group of tasks they run together."""

_LIBRARIES = (
    "requests", "httpx", "urllib", "http.client", "_pb2_grpc", "tritonclient", "openai", "anthropic", "import ray",
    "from ray", "aiohttp", "litellm", "ollama", "import replicate", "import cohere", "from cohere", "voyageai",
    "mistralai", "groq", "from together", "import together", "InferenceClient", "google.gen", "google import genai",
    "langchain", "boto3", "embed_query", "text_embedding", "embed_text", "embed_model", "embedding_model",
    "embedding_func", "embedding_fn", "embedder", ".completions.", "generate_content", "invoke_model", "embed_content",
    "llm", "LLM", "chat_completion", "get_completion", "get_embedding", "response_format", "SentenceTransformer",
    ".encode(", "prompt=", "query=", "chat_response", "call_api", ".api.",
)  # fmt: skip


def look(module: Module, project: Project) -> Iterator[Match]:
    """The module's requests, wherever a loop over items leads to them."""
    for call in module.all(ast.Call):
        if _may_ask(module, call) and _asks(project, module, call):
            for item in repeated(project, module, call, in_chunks=_answers(module, call)):
                trains = item.trains(project)
                if not _announces_an_exchange(item, call) and (trains or not _brings_files(item)):
                    yield _match(item, call, trains=trains)
        elif _is_handed_request(module, call):
            yield from (_match(item, call, trains=item.trains(project)) for item in repeated(project, module, call))
        elif _asks_model(project, module, call) or _encodes_one(project, module, call):
            for item in repeated(project, module, call, in_chunks=_answers_one(call) or _is_part(call)):
                if _is_own_text(item):
                    yield _of_model(item, call)


def _may_ask(module: Module, call: ast.Call) -> bool:
    return last_name(call) in _NAMES or (last_name(call)[:1].isupper() and "_pb2_grpc" in module.source.text)


def _asks(project: Project, module: Module, call: ast.Call) -> bool:
    path = project.origins.of(module, call.func)
    return _speaks_http(module, call) if path is None else _is_request(module, call, path)


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


def _asks_model(project: Project, module: Module, call: ast.Call) -> bool:
    """Whether it reads like a question to a model that somebody else holds, and no library tells more of it."""
    said = code_of(call.func)
    reads_so = _ASKS_MODEL.search(last_name(call)) or _OF_LLM.search(said) or _OF_API.search(said)
    path = project.origins.of(module, call.func) if reads_so else ""
    if path is not None and not _OF_OWN_KIND.search(path):
        return False
    if not call.args and not call.keywords:
        return False
    if isinstance(module.function_of(call), ast.AsyncFunctionDef) and not _is_awaited(module, call):
        return False
    own = (each.node for each in project.flow.callees(module, call) if isinstance(each.node, Function))
    if any(each.name == last_name(call) for each in own):
        return False  # it is followed to what it asks
    of_client = _OF_CLIENT.search(said) is not None and any(each.arg in _FOR_MODEL for each in call.keywords)
    parses = last_name(call) == "parse" and any(each.arg == "response_format" for each in call.keywords)
    prompted = last_name(call) in _ASKING and any(each.arg in _PROMPTS for each in call.keywords)
    by_name = any(each.search(said) for each in (_OF_LLM, _OF_API, _SAYS_SO))
    return of_client or parses or prompted or by_name


_ASKING = frozenset({"generate", "invoke", "complete", "ask", "chat", "answer", "predict"})
_PROMPTS = frozenset({"prompt", "query", "question", "messages", "system_prompt", "user_prompt"})
"""Handed by these names, it is a question to a large model."""


_ANSWERING = re.compile(
    r"completion|generate|llm|gpt|claude|gemini|invoke|chat|parse|predict|ask|query|messages", re.IGNORECASE
)


def _answers_one(call: ast.Call) -> bool:
    """Whether a model is asked for an answer: of a chunk or a page too it gives one, while others could be asked."""
    return _ANSWERING.search(code_of(call.func)) is not None


def _answers(module: Module, call: ast.Call) -> bool:
    """Whether a request asks a model for an answer, as its name tells, or that of the function around it."""
    around = module.function_of(call)
    return _answers_one(call) or (around is not None and _ANSWERING.search(around.name) is not None)


def _is_part(call: ast.Call) -> bool:
    """Whether one part of something is handed over: `encode(chunk["text"])`, where a chunk is no list of texts."""
    first = call.args[0] if call.args else None
    key = first.slice if isinstance(first, ast.Subscript) else None
    return isinstance(first, ast.Attribute) or (isinstance(key, ast.Constant) and isinstance(key.value, str))


def _encodes_one(project: Project, module: Module, call: ast.Call) -> bool:
    """Whether a model of sentences is handed one text: it takes lists."""
    if last_name(call) != "encode" or not isinstance(call.func, ast.Attribute) or not call.args:
        return False
    path = project.origins.of(module, call.func) or ""
    named = _SENTENCES.search(code_of(call.func.value)) is not None and module.says_any(_OF_TEXTS)
    return path.startswith("sentence_transformers.") or named


_OF_TEXTS = ("SentenceTransformer", "sentence", "embeddings", "embs_", "emb_", "cos_sim")
"""Where one of these stands, what encodes gives vectors of texts."""

_SENTENCES = re.compile(r"embed|sentence|sbert|(^|[._])(model|encoder)$", re.IGNORECASE)


def _is_handed_request(module: Module, call: ast.Call) -> bool:
    """Whether what sends requests is handed over, to be tried until it answers: `retry(requests.post, …)`."""
    if not _TRYING.search(last_name(call)):
        return False
    handed = (*call.args, *(each.value for each in call.keywords))
    return any(_REQUESTS.search(module.qualified(each) or "") for each in handed if isinstance(each, ast.Attribute))


_TRYING = re.compile(r"retry|retries|try|attempt|backoff", re.IGNORECASE)


def _is_own_text(item: Item) -> bool:
    """Whether what is handed on is one thing, not a list of them: `embed(texts[i : i + 64])` asks for many."""
    handed = (*item.call.args, *(each.value for each in item.call.keywords))
    return not any(isinstance(each, ast.Slice) for part in handed for each in nodes_below(part))


def _of_model(item: Item, request: ast.Call) -> Match:
    leads = "" if request is item.call else f", which ends in `{ast.unparse(request.func)}`"
    return Match(
        item.call,
        f"`{item.module.quote(item.call)}` asks a model once {item.in_words}",
        f"who serves it is not seen here; a service takes a round trip for each, and most answer lists{leads}",
        SUSPECTED,
        Severity.NOTE,
        module=item.module,
    )


def _speaks_http(module: Module, call: ast.Call) -> bool:
    """Whether it reads like a request, whoever sends it: `self.client.post(url, json=…, headers=…)`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _HTTP or not call.args:
        return False
    waits = not isinstance(module.function_of(call), ast.AsyncFunctionDef) or _is_awaited(module, call)
    return waits and any(each.arg in {"json", "headers"} for each in call.keywords)


_HTTP = frozenset({"post", "put", "patch", "get", "delete"})


def _is_request(module: Module, call: ast.Call, path: str) -> bool:
    if _AWAITED.search(path):
        return _is_awaited(module, call)
    if path == "ray.get" and not _asks_itself(call):
        return False
    return bool(_REQUESTS.search(path))


def _is_awaited(module: Module, call: ast.Call) -> bool:
    return isinstance(module.parent(call), ast.Await | ast.withitem)


def _asks_itself(call: ast.Call) -> bool:
    """Whether `ray.get(worker.step.remote())` sends what it waits for: others were sent before, all at once."""
    return any(last_name(each) == "remote" for each in nodes_below(call) if isinstance(each, ast.Call))


_EXCHANGE = re.compile(r"broadcast|all_?(reduce|gather)|reduce_?scatter|barrier|nccl|^i?(send|recv)$", re.IGNORECASE)
"""In names of calls between the ranks of a group, each of which the other side must be told to join."""


def _announces_an_exchange(item: Item, request: ast.Call) -> bool:
    """Whether each request has the other side join an exchange of the same item: they go one by one, together."""
    bodies = [item.loop, *(function for _, function in item.through)]
    names = {last_name(each) for body in bodies for each in nodes_below(body) if isinstance(each, ast.Call)}
    return any(_EXCHANGE.search(each) for each in names - {last_name(request)})


_FILES = re.compile(r"(^|_)(download|fetch|retrieve|mirror)|(^|_)(archive|url)s?(_|$)", re.IGNORECASE)
"""In names of functions that bring whole files once: those take as long as the line allows."""


def _brings_files(item: Item) -> bool:
    """Whether files are brought, before anything trains."""
    around = item.module.function_of(item.call)
    names = [last_name(item.call), *(each.name for _, each in item.through), getattr(around, "name", "")]
    return any(_FILES.search(each) for each in names)


def _match(item: Item, request: ast.Call, *, trains: bool) -> Match:
    leads = "" if request is item.call else f", which ends in `{ast.unparse(request.func)}`"
    return Match(
        item.call,
        f"`{item.module.quote(item.call)}` asks another process once {item.in_words}",
        f"each turn waits for an answer before the next question is sent{leads}",
        LIKELY if trains else SUSPECTED,
        Severity.WARNING if trains else Severity.NOTE,
        module=item.module,
    )


RULE = Rule(
    id="per-sample-requests",
    severity=Severity.WARNING,
    summary="One request to another process for each item, one after the other.",
    cause="A request takes a round trip however little it asks; one after the other, they add up while the device has "
    "nothing to do.",
    change="Ask for the whole batch in one request; where the service cannot, send the requests together (a thread "
    "pool, "
    "`asyncio.gather`), keep connections open, and ask for the next batch while this one is trained.",
    expected="9 times as many items a second with ten in a request, 66 times with a hundred (9,482, 85,479 and "
    "622,246 over gRPC within one machine), as far as the service keeps up",
    source="https://www.roguedb.com/blog/grpc-throughput-effects-of-batching; 3.7 times by batching in the server: "
    "https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/optimization.html",
    before="for node in batch:\n    states.append(requests.get(f'{url}/nodes/{node}').json())",
    after="states = session.post(f'{url}/nodes', json={'nodes': batch}).json()",
    look=look,
    words=_LIBRARIES,
    gain=Gain(Time.SERVICE, 9.0),
)
