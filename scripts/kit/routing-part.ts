/** The part of `docs/providers.md` that tells how a request finds its provider. */
export const ROUTING = `
## Routing

The gateway tries a model's \`deployments\` in order of \`priority\`, lowest first. Deployments of equal priority share
the calls by \`weight\`: it draws two, and the second replaces the first only if it has clearly less load or is clearly
faster (half as much, by calls in flight and the smoothed time to the first event). Deployments of equal speed keep
their shares exactly. Deployments with an open breaker or without a free slot come last.

**Sticky routing.** Providers cache the beginning of prompts for a while, per account, and charge less for it. Where a
model has several deployments or credentials, a conversation therefore continues with the ones that answered it
before, identified by account, model, system prompt and first user message. A short question without a system prompt
and without an answer is not a conversation yet. A long beginning (from 4 096 characters) goes to the same deployment
in all processes, even if none of them has seen it. Stickiness ends when the deployment fails, its credential is in
cooldown, its concurrency limit is reached, or a better priority has recovered.

**Attempts.** Until the first event of an answer, a failed call is followed by another one, up to
\`routing.max_attempts\` calls: first to the other deployments, then, after a backoff of up to 100 ms that doubles each
time up to 2 s, to those that may succeed now. The gateway waits for a \`Retry-After\` of at most 2 s. Repeats at a
provider that the request has called before are limited to \`routing.retry_budget\` of the requests there, and three. A
provider's \`timeout_ms.total\` counts from the arrival of the request, over all attempts and waits. Requests that the
provider rejects for their content are not repeated.

**Circuit breakers.** After \`routing.breaker.failures\` consecutive failures, the breaker of a model at that provider
opens for \`routing.breaker.open_ms\`; when it opens again within 10 minutes of its last closing, for twice as long, and
so on up to 5 minutes. Then one request probes it: its first event closes the breaker, its failure keeps it open for
as long again. The first event of a call that was made because all breakers are open closes it, too. Failures are
failed connections, timeouts, errors of the provider (5xx), and answers that are unreadable or break off; errors of
clients, rate limits and credentials are none. When every candidate's breaker is open, the gateway still calls the
best one, once a request. The simulator has no breaker: it fails where its clients ask for it.

**Credentials.** Of several \`api_keys\` the gateway uses the one with the fewest calls in flight. A credential that is
limited (429) enters cooldown for that model, for as long as the provider says, at most an hour, or about a second;
one that is refused (401, 403) or used up (402) enters cooldown for all models for a minute. While every credential of
every candidate is limited for longer than 2 s, one request a second tries one anyway, since a limit often concerns
one large request and not the next small one; an answer ends the cooldown. The others wait a second for it and then
receive 503 \`provider_rate_limited\` with \`retry-after\`, without a call. Where all are refused, the gateway tries the
first again.

**Concurrency limits.** \`max_in_flight\` is the most calls in flight at a provider, per process. Where no candidate has
a free slot, requests queue for up to 10 s, round-robin over accounts, so that many requests of one account do not
delay another's. Beyond 1 000 queued requests, or 100 of an account, the answer is 503 \`overloaded\`.

### \`x-turnpike-route\`

Every completion, and every error that had a route, lists the candidates in the order of the attempts:

\`\`\`
x-turnpike-route: local;model="qwen3-coder";why=sticky;outcome=status_500, openrouter;model="qwen/qwen3-coder";why=fallback;outcome=answered
\`\`\`

| \`why\` | meaning |
|---|---|
| \`only\` | the model has no other candidate |
| \`priority\` | the only one of the best priority |
| \`weight\`, \`load\` | drawn first; drawn second, with less load |
| \`sticky\` | had the conversation before |
| \`fallback\` | better ones failed or were skipped |
| \`repeat\` | was called before in this request |
| \`probe\` | probes an open breaker |
| \`last\` | its breaker is open, but so are all others |
| \`order\`, \`sort\` | first in the order that the request wishes: [routing.md](routing.md) |
| \`explore\` | was not measured yet; a request that sorts tries it |

| \`outcome\` | meaning |
|---|---|
| \`answered\` | the answer began |
| \`status_NNN\` | status of the provider |
| \`connection\`, \`timeout\` | unreachable; no answer in time |
| \`cut\`, \`malformed\`, \`too_large\` | broken off; unreadable; above the size limit |
| \`abandoned\` | the client disconnected, or the gateway ended the request |
| \`pending\` | no event yet (headers of a stream whose provider has been silent for 10 s) |

\`skipped\` replaces both for a better candidate that was not called: \`open\` its breaker is open; \`cooling\` its
credentials are in cooldown; \`full\` it has no free slot.
`
