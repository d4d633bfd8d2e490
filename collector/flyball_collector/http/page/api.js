// Requests to the collector. The token is kept until the tab is closed.

const KEY = "flyball-token";

export class ApiError extends Error {
  constructor(status, error) {
    super(error.what);
    this.status = status;
    this.hint = error.hint;
    this.code = error.code;
  }
}

export function rememberToken(token) {
  sessionStorage.setItem(KEY, token);
}

export async function request(path, query = {}) {
  const url = new URL(`api/v1/${path}`, document.baseURI);
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value].flat()) if (each !== null && each !== undefined) url.searchParams.append(name, each);
  }
  const token = sessionStorage.getItem(KEY);
  const answer = await fetch(url, {
    headers: token ? { Authorization: `Bearer ${token}` } : {},
    signal: AbortSignal.timeout(10000),
    cache: "no-store",
  });
  const body = await answer.json().catch(() => null);
  if (answer.ok && body !== null) return body;
  throw new ApiError(answer.status, body?.error ?? { code: "http", what: `the collector answered with status ${answer.status}`, hint: "" });
}

// Send a request with the header that other sites cannot send. Without tokens, it gives a local user an operator's rights.
export async function requestAsOperator(path, { query = {}, body = null } = {}) {
  const url = new URL(`api/v1/${path}`, document.baseURI);
  for (const [name, value] of Object.entries(query)) if (value !== null && value !== undefined) url.searchParams.set(name, value);
  const token = sessionStorage.getItem(KEY);
  const headers = { "X-Flyball-Operator": "1", ...(token ? { Authorization: `Bearer ${token}` } : {}), ...(body === null ? {} : { "Content-Type": "application/json" }) };
  const answer = await fetch(url, { method: body === null ? "GET" : "POST", headers, body: body === null ? undefined : JSON.stringify(body), signal: AbortSignal.timeout(10000), cache: "no-store" });
  const content = await answer.json().catch(() => null);
  if (answer.ok && content !== null) return content;
  throw new ApiError(answer.status, content?.error ?? { code: "http", what: `the collector answered with status ${answer.status}`, hint: "" });
}

// Fetch a file that only operators may read. A link cannot send the token, nor the header that other sites cannot send.
export async function requestFile(path) {
  const token = sessionStorage.getItem(KEY);
  const answer = await fetch(new URL(`api/v1/${path}`, document.baseURI), {
    headers: { "X-Flyball-Operator": "1", ...(token ? { Authorization: `Bearer ${token}` } : {}) },
    cache: "no-store",
  });
  if (answer.ok) return answer.blob();
  const body = await answer.json().catch(() => null);
  throw new ApiError(answer.status, body?.error ?? { code: "http", what: `the collector answered with status ${answer.status}`, hint: "" });
}
