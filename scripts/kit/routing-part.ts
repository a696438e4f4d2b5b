/** The part of `docs/providers.md` that tells how a request finds its provider. */
export const ROUTING = `
## Routing

A model's \`deployments\` are tried by \`priority\`, lowest first. Within one priority they share the calls by \`weight\`: two
are drawn, and the second takes the first one's place only where it has clearly less to do or is clearly faster (half as
much, by the calls under way and the smoothed time to the first event). Deployments that are equally fast keep their
shares exactly. What is left alone at the moment, or has no free place, comes after all others.

**Conversations stay where they are.** Providers keep the beginning of prompts for a while, each account for itself, and
then charge less for it. Where a model has several deployments or credentials, a conversation therefore goes on with the
ones that answered it before: told by its account, its model, what the system says and what the user said first. A short
question without a system's words and without an answer is no conversation yet: it is drawn like any other. A long
beginning (from 4 096 characters) goes to the same place in all processes, also when none of them has seen it. That ends
as soon as the deployment is not well, its credential cools down, it is full, or a better priority has recovered.

**Attempts.** Until the first event of an answer a failed call is followed by another one, up to \`routing.max_attempts\`
calls: first by the other deployments, then, after a pause of up to 100 ms, doubled each time up to 2 s, by those that
may do better. A \`Retry-After\` of at most 2 s is waited for. Repeats at a provider that the request has called before are
at most \`routing.retry_budget\` of the requests there, and three. A provider's \`timeout_ms.total\` counts from the arrival of the
request, over all attempts and waits. Requests that the provider refuses for what is in them are not tried again.

**Failing deployments.** After \`routing.breaker.failures\` failures in a row a model is left alone at that provider, for
\`routing.breaker.open_ms\`; the second time within 10 minutes of an answer for twice as long, and so on up to 5 minutes.
Then one request tries it: its first event brings the deployment back, its failure leaves it alone for as long again.
Failures are connections that fail, time-outs, errors of the provider (5xx), and answers that cannot be read or break
off; what clients cause, limits and credentials are none. When nothing else is left the best one is called all the same,
once a request. The simulator is never left alone: it fails where its clients ask it to.

**Credentials.** Of several \`api_keys\` the one with the fewest calls under way is used. One that is limited (429) is left
alone for that model as long as the provider says, at most an hour, or about a second; one that is refused (401, 403) or
used up (402) for all models for a minute. While every credential of every candidate is limited for longer than 2 s, one
request a second tries one all the same, since a limit often concerns one large request and not the next small one; an
answer ends the limit for all. The others wait a second for that, and are then told 503 \`provider_rate_limited\` with
\`retry-after\`, without a call. Where all are refused the first is tried again.

**Places.** \`max_in_flight\` is the most calls at once at a provider, for each process. Where no candidate has a free
place, requests wait for one, up to 10 s; the accounts take turns, so that many requests of one do not delay another's. Beyond
1 000 that wait, or 100 of an account, the answer is 503 \`overloaded\`.

### \`x-turnpike-route\`

Every completion, and every error that had a route, names the candidates in the order in which they were tried:

\`\`\`
x-turnpike-route: local;model="qwen3-coder";why=sticky;outcome=status_500, openrouter;model="qwen/qwen3-coder";why=fallback;outcome=answered
\`\`\`

- \`why\`: \`only\` the model has no other; \`priority\` alone in the best one; \`weight\` drawn; \`load\` drawn second, with less
  to do; \`sticky\` had the conversation before; \`fallback\` better ones failed or were skipped; \`repeat\` called before;
  \`probe\` tries one that was left alone; \`last\` is left alone, but nothing else is left.
- \`outcome\`: \`answered\`; \`status_NNN\` what the provider said; \`connection\` it could not be reached; \`timeout\`; \`cut\` it
  broke off; \`malformed\` it could not be read; \`too_large\`; \`abandoned\` the client left, or the gateway ended the request;
  \`pending\` no event yet (the head of a stream whose provider has been silent for 10 s).
- \`skipped\`, in place of both, for a better one that was not called: \`open\` it is left alone; \`cooling\` its credentials
  are; \`full\` it has no free place.
`
