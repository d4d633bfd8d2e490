"""`per-sample-requests`: one request to another process for each item, each waiting for its answer."""

import ast
import re
from collections.abc import Iterator

from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.index import nodes_below
from flyball_audit.items import Item, repeated
from flyball_audit.model_requests import asks_for_one, is_awaited
from flyball_audit.module import last_name
from flyball_audit.names import code_of
from flyball_audit.project import Module, Project
from flyball_audit.rule import LIKELY, SUSPECTED, Match, Rule

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
    r"|^googleapiclient\.discovery\.build\(\)(\.\w+\(\))+\.execute$"
    r"|^ray\.get$"
)
_NAMES = frozenset({
    "get", "post", "put", "patch", "delete", "head", "request", "send", "urlopen", "getresponse", "infer", "create",
    "parse", "completion", "embedding", "chat", "generate", "embeddings", "embed", "run", "rerank", "complete",
    "invoke", "generate_content", "embed_content", "predict", "embed_query", "invoke_model", "converse",
    "translate_text", "head_object", "get_item", "chat_completion", "text_generation", "feature_extraction",
    "detect_sentiment", "execute",
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
    "googleapiclient", "import_module", "embed_documents", ".embed(", "openai_", "(prompt",
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
        elif asks_for_one(project, module, call):
            for item in repeated(project, module, call, in_chunks=_answers_one(call) or _is_part(call)):
                if _is_own_text(item):
                    yield _of_model(item, call)


def _may_ask(module: Module, call: ast.Call) -> bool:
    return last_name(call) in _NAMES or (last_name(call)[:1].isupper() and "_pb2_grpc" in module.source.text)


def _asks(project: Project, module: Module, call: ast.Call) -> bool:
    path = project.origins.of(module, call.func)
    if path is not None:
        return _is_request(module, call, path)
    return _speaks_http(module, call) or _executes(module, call)


def _executes(module: Module, call: ast.Call) -> bool:
    """Whether it sends what Google's clients put together: `client.comments().analyze(body=…).execute()`."""
    made = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "execute" else None
    return isinstance(made, ast.Call) and not call.args and module.says_any(("googleapiclient",))


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
    leads = "" if request is item.call else f"; the request is sent by `{ast.unparse(request.func)}`"
    return Match(
        item.call,
        f"`{item.module.quote(item.call)}` calls a model once {item.in_words}",
        "the service behind it is not in these files; each call costs a round trip, and most services accept "
        f"lists{leads}",
        SUSPECTED,
        Severity.NOTE,
        module=item.module,
    )


def _speaks_http(module: Module, call: ast.Call) -> bool:
    """Whether it reads like a request, whoever sends it: `self.client.post(url, json=…, headers=…)`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _HTTP or not call.args:
        return False
    waits = not isinstance(module.function_of(call), ast.AsyncFunctionDef) or is_awaited(module, call)
    return waits and any(each.arg in {"json", "headers"} for each in call.keywords)


_HTTP = frozenset({"post", "put", "patch", "get", "delete"})


def _is_request(module: Module, call: ast.Call, path: str) -> bool:
    if _AWAITED.search(path):
        return is_awaited(module, call)
    if path == "ray.get" and not _asks_itself(call):
        return False
    return bool(_REQUESTS.search(path))


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
    leads = "" if request is item.call else f"; the request is sent by `{ast.unparse(request.func)}`"
    sure = trains and not item.is_conditional
    return Match(
        item.call,
        f"`{item.module.quote(item.call)}` sends a request to another process once {item.in_words}",
        f"each iteration waits for the answer before it sends the next request{leads}",
        LIKELY if sure else SUSPECTED,
        Severity.WARNING if sure else Severity.NOTE,
        module=item.module,
    )


RULE = Rule(
    id="per-sample-requests",
    severity=Severity.WARNING,
    summary="Requests to another process are sent one at a time, one for each item.",
    cause="Each request costs a round trip, however small it is. One after the other, the round trips add up while "
    "the device is idle.",
    change="Request the whole batch at once. If the service cannot do this, send the requests concurrently (a "
    "thread pool, `asyncio.gather`), keep connections open, and request the next batch while this one is "
    "trained.",
    expected="9 times as many items a second with ten items per request, 66 times with a hundred (9,482 items a second "
    "one by one, 85,479 and 622,246, over gRPC within one machine), if the service keeps up",
    source="https://www.roguedb.com/blog/grpc-throughput-effects-of-batching; 3.7 times with batching in the "
    "server: https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/optimization.html",
    before="for node in batch:\n    states.append(requests.get(f'{url}/nodes/{node}').json())",
    after="states = session.post(f'{url}/nodes', json={'nodes': batch}).json()",
    look=look,
    words=_LIBRARIES,
    gain=Gain(Time.SERVICE, 9.0),
)
