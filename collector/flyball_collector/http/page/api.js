// Asks the collector; keeps the token for as long as the tab lives.

const KEY = "flyball-token";

export class ApiFault extends Error {
  constructor(status, fault) {
    super(fault.what);
    this.status = status;
    this.hint = fault.hint;
    this.code = fault.code;
  }
}

export function rememberToken(token) {
  sessionStorage.setItem(KEY, token);
}

export async function ask(path, query = {}) {
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
  throw new ApiFault(answer.status, body?.error ?? { code: "http", what: `the collector answered ${answer.status}`, hint: "" });
}
