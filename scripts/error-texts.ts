/** Meaning of each error code and what to do, for `docs/errors.md`. */
import type { ErrorCode } from '../src/domain/errors.ts'

export interface ErrorText {
  readonly meaning: string
  readonly action: string
}

export const ERROR_TEXTS: Readonly<Record<ErrorCode, ErrorText>> = {
  invalid_json: {
    meaning: 'The body is empty or is not JSON.',
    action: 'Send a JSON object; the message names the position.',
  },
  missing_field: { meaning: 'A required field is missing.', action: 'Add the field that `param` names.' },
  invalid_type: { meaning: 'A field has the wrong JSON type.', action: 'Correct the field that `param` names.' },
  out_of_range: {
    meaning: 'A number, a length or a count is outside its limits.',
    action: 'Correct the field that `param` names; the message says what is allowed.',
  },
  invalid_value: {
    meaning: 'The value of a field is not allowed, or contradicts another field.',
    action: 'Correct the field that `param` names.',
  },
  unknown_field: { meaning: 'The endpoint has no field of this name.', action: 'Remove it, or correct its name.' },
  invalid_header: {
    meaning: 'A header is malformed, or was sent more than once.',
    action: 'Send `Host`, `Authorization`, `Content-Type`, `Content-Length` and `Idempotency-Key` at most once.',
  },
  no_candidates: {
    meaning: 'What the request says of providers (`provider`, `x-turnpike-routing`) leaves none of the model.',
    action: 'Loosen what the message names; docs/routing.md.',
  },
  context_length_exceeded: {
    meaning: 'The conversation is longer than the model can read.',
    action: 'Shorten it, lower `max_tokens`, or use a model with a larger `context_window`.',
  },
  content_blocked: {
    meaning: 'A guardrail of the account blocked the request, or its answer; the message names it.',
    action: 'Remove what the message says, or ask who manages the account. See docs/guardrails.md.',
  },
  content_filter: { meaning: 'The provider rejected the content of the request.', action: 'Change the content.' },
  provider_rejected: {
    meaning: 'The provider rejected the content of the request; the message is its own.',
    action: 'Change what the message names.',
  },
  previous_response_not_found: {
    meaning: 'The request continues a response by its ID; responses are not stored.',
    action: 'Send all items of the conversation as `input`.',
  },
  method_not_allowed: {
    meaning: 'The path exists, but not with this method.',
    action: 'Use one of the methods that the header `Allow` lists.',
  },
  request_timeout: {
    meaning: 'The headers or the body of the request did not arrive in time.',
    action: 'Send the request again, without pauses.',
  },
  body_too_large: {
    meaning: 'The body is larger than the limit (32 MiB unless the operator set another).',
    action: 'Send less, or refer to files by URL.',
  },
  unsupported_media_type: {
    meaning: 'The body is not `application/json`, or has a content encoding.',
    action: 'Send plain JSON with `Content-Type: application/json`.',
  },
  headers_too_large: { meaning: 'The headers of the request exceed 16 KiB.', action: 'Send fewer headers.' },
  missing_credential: {
    meaning: 'The request has no `Authorization` header.',
    action: 'Send `Authorization: Bearer tp_…`, or Basic with the key as user name and no password.',
  },
  invalid_credential: {
    meaning: 'The key, token or session is unknown, revoked, expired or malformed. The answer is the same for all.',
    action: 'Use a key that is listed as active; sign in again with `turnpike login` or in the dashboard.',
  },
  insufficient_credit: {
    meaning:
      'The maximum cost of the request exceeds the available credit; see `required_usd`, `available_usd` and `affordable_max_tokens`. A stream whose hold cannot be raised ends with this error.',
    action:
      'Lower `max_tokens` to what is affordable, wait for requests in flight, or add credit. See [credit](credit.md).',
  },
  account_budget_exceeded: {
    meaning: 'The same for the monthly budget of the account. `resets_at` is the start of the next month.',
    action: 'Lower `max_tokens`, raise the budget with `PATCH /v1/account`, or wait for the next month.',
  },
  team_budget_exceeded: {
    meaning: 'The same for a budget of the team.',
    action: 'Lower `max_tokens`, raise the budget, or wait until `resets_at`.',
  },
  member_budget_exceeded: {
    meaning: 'The same for a budget of the person who created the key or is signed in.',
    action: 'Lower `max_tokens`, raise the budget, or wait until `resets_at`.',
  },
  tag_budget_exceeded: {
    meaning: 'The same for a budget of one of the request’s tags.',
    action: 'Lower `max_tokens`, raise the budget, or wait until `resets_at`.',
  },
  key_budget_exceeded: {
    meaning: 'The same for the monthly budget of the API key.',
    action: 'Lower `max_tokens`, raise the budget of the key, use another key, or wait for the next month.',
  },
  insufficient_scope: {
    meaning: 'The key or token does not have the scope that the endpoint needs, or the role does not have the right.',
    action: 'Use a key with the scope that the message names, or ask an owner for the role.',
  },
  address_not_allowed: {
    meaning: "The request comes from an address outside the key's allowlist.",
    action: 'Send it from an allowed address, or change the allowlist.',
  },
  cross_site_request: {
    meaning: 'A page of another site made a browser send the request, possibly with the cookie of the dashboard.',
    action: 'Send it from a page of this server; programs use an API key and `/v1`.',
  },
  policy_not_satisfiable: {
    meaning: 'No deployment of the model fulfils the data policy of the account, team or key.',
    action: 'Use another model; see [data policies](routing.md#data-policies).',
  },
  endpoint_not_allowed: {
    meaning: 'The team of the credential does not allow this endpoint.',
    action: 'Use one of its endpoints, or ask an admin of the account to change the team.',
  },
  model_not_allowed: {
    meaning: 'The key does not allow this model.',
    action: 'Use one of its models, or change the key.',
  },
  own_credential_refused: {
    meaning: 'The provider refuses the account’s own credential, or the account has no credit there.',
    action: 'Rotate or delete the credential under `/v1/provider-credentials`; a repeat fails as well.',
  },
  not_found: { meaning: 'The path or the object does not exist.', action: 'Check the path and the ID.' },
  conflict: {
    meaning: 'The state of the object does not allow the request.',
    action: 'Read the object again.',
  },
  idempotency_key_reused: {
    meaning: 'The `Idempotency-Key` was used for another body.',
    action: 'Use a new key for a new request.',
  },
  idempotency_outcome_unknown: {
    meaning:
      'The process that ran the request with this `Idempotency-Key` died, and the provider may have been called. `completion_id` names the completion.',
    action: 'Look the completion up in `GET /v1/usage/completions/{id}`; use a new key to run the request again.',
  },
  idempotency_result_expired: {
    meaning:
      'The stream with this `Idempotency-Key` ended, and its events are no longer stored (10 minutes unless the operator set another time).',
    action: 'Use a new key to run the request again; it is charged again.',
  },
  idempotency_result_too_large: {
    meaning: 'The answer of the first request was too large (over 8 MiB) to be stored for repeats.',
    action: 'Use a new key to run the request again; it is charged again.',
  },
  client_left: {
    meaning:
      'The client of the first request with this `Idempotency-Key` disconnected before the answer. The output until then was charged.',
    action: 'Use a new key to run the request again.',
  },
  model_not_found: {
    meaning: 'No model has this ID.',
    action: 'Use an ID of `GET /v1/models`; the message names similar ones.',
  },
  model_not_priced: {
    meaning:
      'The price of the model is unknown, so it cannot be called. With status 503 and type `service_unavailable`: its price has expired or has not started.',
    action: 'Ask the operator to set `pricing` for it.',
  },
  unsupported_parameter: {
    meaning: 'The chosen model or provider does not support a parameter.',
    action: 'Remove the parameter that `param` names, or use another model.',
  },
  pull_request_refused: {
    meaning:
      'No pull request can be opened: the repository has no credential, its host is not GitHub or GitLab, or refused. With status 503 and type `service_unavailable`: the host failed or could not be reached.',
    action: 'Do what the message says; it has the reason of the host.',
  },
  unsupported_content: {
    meaning: 'The model cannot read a part of a message, such as an image.',
    action: 'Remove the part that `param` names, or use a model with that capability.',
  },
  rate_limit_exceeded: {
    meaning: 'A limit on requests, tokens or requests in flight is reached.',
    action: 'Wait as long as `retry_after` says, then repeat.',
  },
  internal_error: {
    meaning: 'The gateway failed.',
    action: 'Repeat with increasing delays; report the `request_id` to the operator.',
  },
  provider_error: {
    meaning: 'The provider failed, did not respond in time, or sent an invalid response.',
    action: 'Repeat after `retry-after`.',
  },
  provider_rate_limited: {
    meaning: "The provider's own rate limit is reached.",
    action: 'Repeat after `retry-after`.',
  },
  provider_credentials: {
    meaning: "The provider rejects the operator's credential, or the account there has no credit.",
    action: 'Report it to the operator; a repeat fails as well.',
  },
  database_unavailable: {
    meaning: 'The database is unreachable, and the gateway admits no requests without it.',
    action: 'Repeat after `retry-after`.',
  },
  overloaded: { meaning: 'The gateway has more work than it can do.', action: 'Repeat after `retry-after`.' },
  agents_unavailable: {
    meaning: 'The machine has no working sandbox, so the gateway runs no agents.',
    action: 'Report it to the operator; `turnpike doctor` names what to install.',
  },
  shutting_down: {
    meaning: 'The server is shutting down.',
    action: 'Repeat; another process, or the restarted one, answers.',
  },
}
