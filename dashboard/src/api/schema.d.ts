// Made by `npm run generate:client` from /openapi.json; not to be changed by hand.

export interface paths {
    "/healthz": {
        /**
         * Check whether the process is alive
         * @description Returns 200 while the process runs. Requires no credential.
         */
        get: operations["getHealthz"];
    };
    "/readyz": {
        /**
         * Check whether requests can be served
         * @description Returns 503 while the process shuts down or a store does not respond. Requires no credential.
         */
        get: operations["getReadyz"];
    };
    "/device/code": {
        /**
         * Start the device flow
         * @description RFC 8628. Show the user `verification_uri` and `user_code`, and poll `/oauth/token`.
         */
        post: operations["postDeviceCode"];
    };
    "/oauth/token": {
        /**
         * Get tokens
         * @description Exchanges an approved device code, once, or a refresh token, which each exchange replaces.
         */
        post: operations["postOauthToken"];
    };
    "/oauth/revoke": {
        /**
         * Disconnect a device
         * @description RFC 7009. Accepts the access token or the refresh token. Returns 200 for unknown tokens too.
         */
        post: operations["postOauthRevoke"];
    };
    "/.well-known/oauth-authorization-server": {
        /**
         * Describe the authorization server
         * @description RFC 8414.
         */
        get: operations["getWellKnownOauthAuthorizationServer"];
    };
    "/auth/session": {
        /**
         * Get an access token for the dashboard
         * @description Requires the session cookie. `account_id` switches the session to another account of the person.
         */
        post: operations["postAuthSession"];
    };
    "/auth/sign-out": {
        /**
         * Sign out
         * @description Ends the session of the cookie, in every process within 30 s. Without a session it does nothing.
         */
        post: operations["postAuthSignOut"];
    };
    "/auth/link": {
        /**
         * Sign in with a one-time link
         * @description Redeems the token of a link that `turnpike login-link` printed. A form is redirected to the requested page, or to the dashboard.
         */
        post: operations["postAuthLink"];
    };
    "/v1/chat/completions": {
        /**
         * Create a chat completion
         * @description Routes the request to a provider by its model ID. With `stream: true` the response is an event stream of chunks that ends with `data: [DONE]`; a failure after its start is an event with `error`, then `[DONE]`. With an `Idempotency-Key` a repeat gets the answer of the first request, free of charge. Events of such a stream have an `id`; a repeat with `Last-Event-ID` gets the events after it, even while the first request still runs.
         */
        post: operations["postChatCompletions"];
    };
    "/v1/messages": {
        /**
         * Create a message
         * @description Anthropic's Messages API over the models of every provider. The key may be sent as `x-api-key`. With `stream: true` the answer is an event stream from `message_start` to `message_stop`; a failure after it began is an `error` event, and no `message_stop` follows it. Errors have the shape of that API.
         */
        post: operations["postMessages"];
    };
    "/v1/messages/count_tokens": {
        /**
         * Count the tokens of a message
         * @description Counts a prompt here, as its provider is expected to count it. Nothing is sent, and nothing charged.
         */
        post: operations["postMessagesCountTokens"];
    };
    "/v1/completions": {
        /**
         * Create a legacy completion
         * @description Continues a prompt, or fills in before `suffix`. Providers that have such an endpoint get it as it is; on others the prompt becomes the message of a user. With `stream: true` the response is an event stream of chunks that ends with `data: [DONE]`.
         */
        post: operations["postCompletions"];
    };
    "/v1/embeddings": {
        /**
         * Create embeddings
         * @description Returns one vector for each input. Requests are limited, held, charged and logged like chat completions. With an `Idempotency-Key` a repeat gets the answer of the first request, free of charge.
         */
        post: operations["postEmbeddings"];
    };
    "/v1/rerank": {
        /**
         * Rank documents
         * @description Orders texts by their relevance to a query. Requests are limited, held, charged and logged like chat completions. With an `Idempotency-Key` a repeat gets the answer of the first request, free of charge.
         */
        post: operations["postRerank"];
    };
    "/v1/responses": {
        /**
         * Create a response
         * @description OpenAI's Responses API over the models of every provider. With `stream: true` the answer is an event stream from `response.created` to `response.completed` or `response.incomplete`; a failure after it began is an `error` event, then `response.failed`. Where the operator does not allow to store responses, send all items of the conversation as `input`.
         */
        post: operations["postResponses"];
    };
    "/v1/responses/input_tokens": {
        /**
         * Count the input tokens of a response
         * @description Counts a prompt here, as its provider is expected to count it. Nothing is sent, and nothing charged.
         */
        post: operations["postResponsesInputTokens"];
    };
    "/v1/responses/{id}": {
        /**
         * Get a stored response
         * @description Returns a response that was created with `store: true`, where the operator allows it. It is read whole: `stream=true` is refused.
         */
        get: operations["getResponsesById"];
        /**
         * Delete a stored response
         * @description Deletes a response. Conversations that it is part of cannot be continued by ID any more.
         */
        delete: operations["deleteResponsesById"];
    };
    "/v1/responses/{id}/input_items": {
        /**
         * List the input items of a stored response
         * @description Returns the items that the response was made from: those of earlier responses that it continues, and those of its request.
         */
        get: operations["getResponsesByIdInputItems"];
    };
    "/v1/models": {
        /**
         * List models
         * @description Returns the models that this key can use and that have a configured provider, with capabilities and the prices of the account’s plan.
         */
        get: operations["getModels"];
    };
    "/v1/models/{id}": {
        /**
         * Get a model
         * @description Finds a model by its ID or an alias. Slashes in IDs may be percent-encoded. `Sunset` (RFC 8594) is the day on which the provider shuts the model down; `Deprecation` (RFC 9745) is present from that day on.
         */
        get: operations["getModelsById"];
    };
    "/v1/keys": {
        /**
         * List API keys
         * @description Returns the keys of the account, including revoked ones unless `status` excludes them.
         */
        get: operations["getKeys"];
        /**
         * Create an API key
         * @description Returns the secret in `key`, only this once. Requires a role, or a key without budget, models, rate limit and expiry. A key that a key creates never exceeds its parent: it shares the parent’s budget and rate limit, and is revoked with it.
         */
        post: operations["postKeys"];
    };
    "/v1/keys/{id}": {
        /**
         * Get an API key
         * @description Also returns revoked keys.
         */
        get: operations["getKeysById"];
        /**
         * Revoke an API key
         * @description Takes effect in every process within a second. Also revokes the keys that it created, directly or indirectly, unless `cascade=false`.
         */
        delete: operations["deleteKeysById"];
        /**
         * Change an API key
         * @description Changes only the fields that are sent. `null` and empty lists remove a limit.
         */
        patch: operations["patchKeysById"];
    };
    "/v1/keys/{id}/rotate": {
        /**
         * Rotate the secret of an API key
         * @description Returns a new secret in `key`, only this once. ID, limits, budgets and history stay. The present secret stays valid for `overlap_seconds`, an earlier one ends.
         */
        post: operations["postKeysByIdRotate"];
    };
    "/v1/usage": {
        /**
         * Get the usage of a period
         * @description Returns tokens and cost by model, most expensive first. Completions are counted within a second.
         */
        get: operations["getUsage"];
    };
    "/v1/usage/performance": {
        /**
         * Get latency and reliability
         * @description Returns how many completions failed and how long the others took, of all UTC hours that the period has a part in. Completions are counted within seconds of their end. Percentiles are read from histograms, within 7 %. Times to the first byte cover streams only, `duration_ms` covers completed completions only.
         */
        get: operations["getUsagePerformance"];
    };
    "/v1/usage/completions": {
        /**
         * List completions
         * @description Returns every completion that reached a provider, whatever its outcome. Filters are combined with AND.
         */
        get: operations["getUsageCompletions"];
    };
    "/v1/usage/completions/{id}": {
        /**
         * Get a completion
         * @description Returns what a completion used and cost, and how the cost was computed, by the `id` of its response.
         */
        get: operations["getUsageCompletionsById"];
    };
    "/v1/usage/rejections": {
        /**
         * List rejected requests
         * @description Returns requests to models that the gateway rejected before it called a provider, of the last 7 days: at most 10 a second and 10 000 in all. Those without a valid credential belong to no account: the account that operates the installation lists them. Filters are combined with AND.
         */
        get: operations["getUsageRejections"];
    };
    "/v1/usage/completions/stream": {
        /**
         * Stream completions
         * @description Sends completions as they end, as an event stream: `id` is the ID of the completion, `event` is `completion`, `data` is the object of the list as one line of JSON. Comments keep an idle stream open. Once a second the server reads the newest 100 matching completions that started within the last hour, and sends those that it has not sent, in the order in which they ended; later ones appear only in the list. Filters are combined with AND. `Last-Event-ID` resumes after that completion; completions of the seconds before it may be repeated, so compare their IDs. Returns 400 if it is not the ID of a completion, and 429 if ten streams are open.
         */
        get: operations["getUsageCompletionsStream"];
    };
    "/v1/ledger": {
        /**
         * List the ledger
         * @description Returns the entries of the ledger, newest first. Entries never change; the balance is their sum.
         */
        get: operations["getLedger"];
    };
    "/v1/ledger/statement": {
        /**
         * Get the statement of a period
         * @description Returns the balance before and after the period, the sum of each kind of ledger entry, and the usage by model. Periods are whole days in UTC.
         */
        get: operations["getLedgerStatement"];
    };
    "/v1/usage/reconcile": {
        /**
         * Check that usage, ledger and balance agree
         * @description Sums up the completions, their stored totals, the ledger and the open holds in one snapshot of the database, and compares them. `deep=true` also audits the account: it recomputes every charge from tokens and price, for about 2 seconds a request. While `audit.status` is `partial`, send its `cursor` to continue.
         */
        get: operations["getUsageReconcile"];
    };
    "/v1/budgets": {
        /**
         * List budgets
         * @description Returns the budgets of the account and everything in it, with what is spent in their current windows.
         */
        get: operations["getBudgets"];
        /**
         * Set the budgets of a subject
         * @description Replaces the budgets of the account, a team, member, key or tag. In force for the next request. `[]` removes all.
         */
        put: operations["putBudgets"];
    };
    "/v1/budgets/{id}": {
        /**
         * Get a budget
         * @description Returns a budget with what is spent in its current window.
         */
        get: operations["getBudgetsById"];
    };
    "/v1/budgets/{id}/raises": {
        /**
         * Raise a budget for a time
         * @description Adds an amount to the limit of a budget until a time. The audit log records it with its reason.
         */
        post: operations["postBudgetsByIdRaises"];
    };
    "/v1/budgets/{id}/raises/{raise_id}": {
        /**
         * End a raise
         * @description Ends a raise now. Requests that it admitted are not affected.
         */
        delete: operations["deleteBudgetsByIdRaisesByRaiseId"];
    };
    "/v1/invoices": {
        /**
         * List invoices
         * @description Returns an invoice for each month (UTC) with ledger entries. An invoice is closed an hour after the end of its month.
         */
        get: operations["getInvoices"];
    };
    "/v1/invoices/{id}": {
        /**
         * Get an invoice
         * @description Returns the charges of a month by model, and the other ledger entries. A closed invoice never changes.
         */
        get: operations["getInvoicesById"];
    };
    "/v1/account": {
        /**
         * Get the account
         * @description Returns the account of the credential, with its budget, alerts, and the limits of its plan.
         */
        get: operations["getAccount"];
        /**
         * Change the account
         * @description Changes only the fields that are sent. A budget applies from the next request on. `data_policy` requires the right `members`.
         */
        patch: operations["patchAccount"];
    };
    "/v1/admin/accounts": {
        /**
         * List accounts
         * @description Returns all accounts of the installation, or those that match `search`.
         */
        get: operations["getAdminAccounts"];
        /**
         * Create an account
         * @description Grants the account the allowance of its plan for this month.
         */
        post: operations["postAdminAccounts"];
    };
    "/v1/admin/accounts/{id}": {
        /**
         * Get an account
         * @description Finds any account of the installation, after granting the allowance of its plan for this month.
         */
        get: operations["getAdminAccountsById"];
        /**
         * Change an account
         * @description Changes only the fields that are sent. A new plan takes effect in every process within a second.
         */
        patch: operations["patchAdminAccountsById"];
    };
    "/v1/admin/plans": {
        /**
         * List plans
         * @description Returns the plans of the configuration.
         */
        get: operations["getAdminPlans"];
    };
    "/v1/admin/accounts/{id}/credits": {
        /**
         * Add or remove credit of an account
         * @description Returns the new entry of the ledger. Entries never change: correct a mistake with another entry.
         */
        post: operations["postAdminAccountsByIdCredits"];
    };
    "/v1/telemetry-destinations": {
        /** List telemetry destinations */
        get: operations["getTelemetryDestinations"];
        /**
         * Add a telemetry destination
         * @description Sends the traces of the account's requests to a service over OTLP. At most 10.
         */
        post: operations["postTelemetryDestinations"];
    };
    "/v1/telemetry-destinations/{id}": {
        /** Get a telemetry destination */
        get: operations["getTelemetryDestinationsById"];
        /** Delete a telemetry destination */
        delete: operations["deleteTelemetryDestinationsById"];
        /**
         * Change a telemetry destination
         * @description Changes only the fields that are sent. `headers` replaces all further headers.
         */
        patch: operations["patchTelemetryDestinationsById"];
    };
    "/v1/telemetry-destinations/{id}/test": {
        /**
         * Test a telemetry destination
         * @description Sends one span and waits at most 10 s for the answer.
         */
        post: operations["postTelemetryDestinationsByIdTest"];
    };
    "/v1/provider-credentials": {
        /**
         * List provider credentials
         * @description Returns the account’s own credentials at providers, never their keys.
         */
        get: operations["getProviderCredentials"];
        /**
         * Add a provider credential
         * @description Stores the account’s own key at a provider, after a test call of at most 10 s. Requests to models of the provider then use it in place of the operator’s, and are charged `byok_fee_percent` of the price. A key that the provider rejects is not stored (400); one whose provider cannot be reached is stored as `untested`. Returns 404 for a provider that is not configured or takes no key.
         */
        post: operations["postProviderCredentials"];
    };
    "/v1/provider-credentials/{id}": {
        /** Get a provider credential */
        get: operations["getProviderCredentialsById"];
        /**
         * Delete a provider credential
         * @description Takes effect in every process within a second. Requests then use the operator’s credentials again.
         */
        delete: operations["deleteProviderCredentialsById"];
        /**
         * Change a provider credential
         * @description Changes only the fields that are sent. A new `api_key` is tested, and replaces the old one in every process within a second.
         */
        patch: operations["patchProviderCredentialsById"];
    };
    "/v1/guardrails": {
        /** List guardrails */
        get: operations["getGuardrails"];
        /**
         * Create a guardrail
         * @description Applies to every request of the account, or of `keys`, within a second, in all processes. A blocked request gets 400 `content_blocked` and is not charged; a blocked answer ends with that error and is charged for what its provider delivered.
         */
        post: operations["postGuardrails"];
    };
    "/v1/guardrails/{id}": {
        /** Get a guardrail */
        get: operations["getGuardrailsById"];
        /** Delete a guardrail */
        delete: operations["deleteGuardrailsById"];
        /**
         * Change a guardrail
         * @description Changes only the fields that are sent; `rules` replaces all rules.
         */
        patch: operations["patchGuardrailsById"];
    };
    "/v1/content-capture": {
        /** Get content capture */
        get: operations["getContentCapture"];
        /**
         * Set content capture
         * @description Replaces the settings; takes effect within a second, in every process. Off by default. What is stored already stays until its retention, or until it is deleted. Returns 409 where the operator does not allow it.
         */
        put: operations["putContentCapture"];
    };
    "/v1/usage/completions/{id}/content": {
        /**
         * Get the prompt and answer of a completion
         * @description Only of completions that were captured; see docs/content-capture.md. The audit log has every access.
         */
        get: operations["getUsageCompletionsByIdContent"];
        /** Delete the prompt and answer of a completion */
        delete: operations["deleteUsageCompletionsByIdContent"];
    };
    "/v1/usage/content": {
        /**
         * Export prompts and answers
         * @description JSON Lines. `jsonl`: what the completion has, with its model, tags and content. `messages`: only `messages`, with the answer as the last one, and `tools`, as for fine-tuning. Filters are combined with AND.
         */
        get: operations["getUsageContent"];
        /**
         * Delete prompts and answers
         * @description Deletes all that are stored of the account, or those of a key or a person.
         */
        delete: operations["deleteUsageContent"];
    };
    "/v1/billing": {
        /**
         * Get payment settings
         * @description Returns the saved payment method and the automatic recharge.
         */
        get: operations["getBilling"];
        /**
         * Change automatic recharge
         * @description Charges the saved payment method, as soon as there is one, whenever the balance is below `below_usd`. `null` turns it off. Sent again after a failure, it tries again.
         */
        patch: operations["patchBilling"];
    };
    "/v1/billing/top-ups": {
        /**
         * Purchase credit
         * @description Returns the address of Stripe's page for the payment. The credit is there seconds after it.
         */
        post: operations["postBillingTopUps"];
    };
    "/v1/billing/payments": {
        /** List payments */
        get: operations["getBillingPayments"];
    };
    "/v1/billing/payment-method": {
        /**
         * Remove the saved payment method
         * @description Also turns automatic recharge off.
         */
        delete: operations["deleteBillingPaymentMethod"];
    };
    "/v1/admin/providers": {
        /**
         * List providers
         * @description Returns the configured providers with their health over the last 24 hours, and with the latency and load that the responding process has measured in its own calls.
         */
        get: operations["getAdminProviders"];
    };
    "/v1/admin/provider_kinds": {
        /**
         * List provider kinds
         * @description Returns the built-in providers, each of which `PUT /v1/admin/providers/{name}` can configure.
         */
        get: operations["getAdminProviderKinds"];
    };
    "/v1/admin/price_ends": {
        /**
         * List expiring prices
         * @description Returns the models whose price expires within a week without a successor, or has expired. Without a price they return 503 `model_not_priced`. Set `pricing`, or its `successors`, in the configuration.
         */
        get: operations["getAdminPriceEnds"];
    };
    "/v1/admin/providers/{name}/test": {
        /**
         * Test a provider
         * @description Requests the provider’s list of models with its first key, for at most 10 s. The test is not charged and does not affect the provider’s health. Concurrent requests share one test. It runs in the responding process. Returns 404 if no provider has this name.
         */
        post: operations["postAdminProvidersByNameTest"];
    };
    "/v1/admin/config": {
        /**
         * Get the configuration in force
         * @description Returns the settings of the process that answers, with the source of each, without secrets.
         */
        get: operations["getAdminConfig"];
    };
    "/v1/admin/models": {
        /**
         * List stored models
         * @description Returns the models that are stored in the database, with their settings in force.
         */
        get: operations["getAdminModels"];
    };
    "/v1/admin/models/{id}": {
        /**
         * Get a stored model
         * @description Returns the settings of the model in the database that are in force, or will be first. 404: none are stored.
         */
        get: operations["getAdminModelsById"];
        /**
         * Store a model
         * @description Creates or replaces the model as a whole; the body is an entry of `models` in `turnpike.yaml`. It takes effect in every process within a second, or at `effective_from`; rows of the past keep their price. An entry of the configuration file has precedence.
         */
        put: operations["putAdminModelsById"];
        /**
         * Remove a stored model
         * @description Removes the model from the database; that of the configuration file or the catalogue stays.
         */
        delete: operations["deleteAdminModelsById"];
    };
    "/v1/admin/models/{id}/versions": {
        /**
         * List versions of a stored model
         * @description Returns every change, the newest first.
         */
        get: operations["getAdminModelsByIdVersions"];
    };
    "/v1/admin/providers/{name}": {
        /**
         * Get a stored provider
         * @description Returns the settings of the provider in the database that are in force, or will be first. 404: none are stored.
         */
        get: operations["getAdminProvidersByName"];
        /**
         * Store a provider
         * @description Creates or replaces the provider as a whole; the body is an entry of `providers` in `turnpike.yaml`. It takes effect in every process within a second, or at `effective_from`; rows of the past keep their price. An entry of the configuration file has precedence. A stored key stays unless `api_key` or `api_keys` is sent; null removes it.
         */
        put: operations["putAdminProvidersByName"];
        /**
         * Remove a stored provider
         * @description Removes the provider from the database; that of the configuration file or the catalogue stays.
         */
        delete: operations["deleteAdminProvidersByName"];
    };
    "/v1/admin/providers/{name}/versions": {
        /**
         * List versions of a stored provider
         * @description Returns every change, the newest first.
         */
        get: operations["getAdminProvidersByNameVersions"];
    };
    "/v1/admin/instances": {
        /**
         * List processes
         * @description Returns the running processes that share this database. A killed process stays listed for 30 s.
         */
        get: operations["getAdminInstances"];
    };
    "/v1/admin/agents": {
        /**
         * Get the status of agents
         * @description Returns whether the responding process can run agents on its machine.
         */
        get: operations["getAdminAgents"];
    };
    "/v1/me": {
        /**
         * Get the identity of the caller
         * @description Returns the credential of this request, its owner and its rights.
         */
        get: operations["getMe"];
    };
    "/v1/sessions": {
        /**
         * List sessions
         * @description Returns the browsers in which the caller is signed in. An API key has none.
         */
        get: operations["getSessions"];
    };
    "/v1/sessions/{id}": {
        /**
         * End a session
         * @description Signs a browser of the caller out, in every process within a second.
         */
        delete: operations["deleteSessionsById"];
    };
    "/v1/members": {
        /**
         * List members
         * @description Returns the members of the account, by the time at which they joined.
         */
        get: operations["getMembers"];
    };
    "/v1/members/{id}": {
        /**
         * Remove a member, or leave
         * @description Ends their sessions, disconnects their devices and revokes the API keys that they created, within a second. Every member except the last owner can leave; removing others requires the right `members`.
         */
        delete: operations["deleteMembersById"];
        /**
         * Change a member
         * @description Changes the role, the budgets, or both. Takes effect in every process within a second. Members cannot grant more than they have; only owners appoint and change owners, and the last owner keeps the role.
         */
        patch: operations["patchMembersById"];
    };
    "/v1/invitations": {
        /**
         * List invitations
         * @description Returns the invitations, including ended ones for some weeks.
         */
        get: operations["getInvitations"];
        /**
         * Create an invitation
         * @description Returns a link; the first person who opens it becomes a member. The role cannot exceed the caller’s own. No mail is sent.
         */
        post: operations["postInvitations"];
    };
    "/v1/invitations/{id}": {
        /**
         * Revoke an invitation
         * @description Invalidates the link of the invitation.
         */
        delete: operations["deleteInvitationsById"];
    };
    "/v1/teams": {
        /**
         * List teams
         * @description Returns the teams of the account; to a key of a team that team alone.
         */
        get: operations["getTeams"];
        /** Create a team */
        post: operations["postTeams"];
    };
    "/v1/teams/{id}": {
        /**
         * Get a team
         * @description Also returns archived teams.
         */
        get: operations["getTeamsById"];
        /**
         * Archive a team
         * @description Its keys stop in every process within a second, for good. Its usage stays in reports.
         */
        delete: operations["deleteTeamsById"];
        /**
         * Change a team
         * @description Changes only the fields that are sent. Takes effect in every process within a second.
         */
        patch: operations["patchTeamsById"];
    };
    "/v1/teams/{id}/members": {
        /** List the members of a team */
        get: operations["getTeamsByIdMembers"];
        /**
         * Add a member to a team
         * @description The person must be a member of the account. Who is in the team already gets the role.
         */
        post: operations["postTeamsByIdMembers"];
    };
    "/v1/teams/{id}/members/{user_id}": {
        /**
         * Remove a member from a team, or leave it
         * @description Keys of the team that they created stop within a second, unless they are an owner or admin of the account.
         */
        delete: operations["deleteTeamsByIdMembersByUserId"];
        /** Change a member’s role in a team */
        patch: operations["patchTeamsByIdMembersByUserId"];
    };
    "/v1/group-mappings": {
        /**
         * List group mappings
         * @description Returns what groups of an identity provider mean for roles in the account and in its teams.
         */
        get: operations["getGroupMappings"];
        /**
         * Replace the group mappings
         * @description Replaces the whole list, and applies it to everybody who is provisioned by SCIM. Owners keep their role, and who was added to a team by hand stays.
         */
        put: operations["putGroupMappings"];
    };
    "/v1/audit": {
        /**
         * List audit events
         * @description Returns who did what, from where, and whether it was allowed. Entries are kept for at least 400 days and never change.
         */
        get: operations["getAudit"];
    };
    "/v1/devices": {
        /**
         * List connected devices
         * @description Returns the caller’s devices, including disconnected ones. Owners and admins list those of all members with `all=true`.
         */
        get: operations["getDevices"];
    };
    "/v1/devices/{id}": {
        /**
         * Disconnect a device
         * @description Disconnects a device of the caller or, for owners and admins, of any member. Every process rejects its tokens within a second.
         */
        delete: operations["deleteDevicesById"];
    };
    "/v1/agents": {
        /**
         * List agents
         * @description Filters are combined with AND.
         */
        get: operations["getAgents"];
        /**
         * Create an agent
         * @description Returns at once and queues the agent for a worker. Its model calls are charged like any others.
         */
        post: operations["postAgents"];
    };
    "/v1/agents/{id}": {
        /** Get an agent */
        get: operations["getAgentsById"];
        /**
         * Delete an agent
         * @description Deletes its messages, events, runs and diff, but not its charges. 409 while it is queued or running: cancel it first.
         */
        delete: operations["deleteAgentsById"];
    };
    "/v1/agents/{id}/followup": {
        /**
         * Send a follow-up
         * @description Starts another run of an agent that has ended, with the rights and the budget of the caller. A queued or running agent reads the follow-up before its next step; the caller then needs the rights of that run, and no limits that it does not have.
         */
        post: operations["postAgentsByIdFollowup"];
    };
    "/v1/agents/{id}/cancel": {
        /**
         * Cancel an agent
         * @description Ends a queued agent at once and a running one within 10 seconds. Its work is kept.
         */
        post: operations["postAgentsByIdCancel"];
    };
    "/v1/agents/{id}/pull-request": {
        /**
         * Open a pull request for an agent
         * @description Opens a pull request (GitHub) or merge request (GitLab) for the branch of an agent that has ended and pushed it, with the operator’s credential for the repository. 200 with the open one if the branch has one. 409 while the agent works or if nothing was pushed; 422 without a credential, for another host, and with the host’s message when it refuses.
         */
        post: operations["postAgentsByIdPullRequest"];
    };
    "/v1/agents/{id}/messages": {
        /**
         * List the messages of an agent
         * @description Returns the conversation of users, model and tools.
         */
        get: operations["getAgentsByIdMessages"];
    };
    "/v1/agents/{id}/runs": {
        /**
         * List the runs of an agent
         * @description Returns the first run, and one for each follow-up that was sent after the agent had ended. Each run is billed separately.
         */
        get: operations["getAgentsByIdRuns"];
    };
    "/v1/agents/{id}/diff": {
        /**
         * Get the diff of an agent
         * @description Returns the unified diff of the last run that has one, against the base of the work. A diff that is too large is truncated after a whole line; the response then has `x-turnpike-truncated: true`.
         */
        get: operations["getAgentsByIdDiff"];
    };
    "/v1/agents/{id}/events": {
        /**
         * Stream the events of an agent
         * @description Sends the past and future events of an agent as an event stream: `id` is the number of the event, `event` its type (`status`, `phase`, `message`, `tool_call`, `tool_result`, `usage`, `diff`), `data` a JSON object. `Last-Event-ID` resumes after that event. When the agent has ended, `done` follows with its status, and the stream ends; with `follow=false` after the past events.
         */
        get: operations["getAgentsByIdEvents"];
    };
    "/v1/webhooks": {
        /**
         * List webhook endpoints
         * @description Returns the endpoints of the account, including disabled ones.
         */
        get: operations["getWebhooks"];
        /**
         * Create a webhook endpoint
         * @description Creates an endpoint and sends it a `webhook.test` event, whatever `events` contains. Returns the signing secret in `secret`, only this once. `slack` and `email` endpoints receive a message for people instead.
         */
        post: operations["postWebhooks"];
    };
    "/v1/webhooks/{id}": {
        /** Get a webhook endpoint */
        get: operations["getWebhooksById"];
        /**
         * Delete a webhook endpoint
         * @description Deletes the endpoint and its deliveries. Pending deliveries are not sent.
         */
        delete: operations["deleteWebhooksById"];
        /**
         * Change a webhook endpoint
         * @description Changes only the fields that are sent. Pending deliveries go to the new address.
         */
        patch: operations["patchWebhooksById"];
    };
    "/v1/webhooks/{id}/rotate_secret": {
        /**
         * Rotate the secret of a webhook endpoint
         * @description Returns the new secret in `secret`, only this once. The old secret also signs for 24 hours by default.
         */
        post: operations["postWebhooksByIdRotateSecret"];
    };
    "/v1/webhooks/{id}/deliveries": {
        /**
         * List deliveries
         * @description Returns the deliveries of the last 30 days to an endpoint, with the outcome of each attempt.
         */
        get: operations["getWebhooksByIdDeliveries"];
    };
    "/v1/webhooks/{id}/deliveries/{delivery_id}": {
        /**
         * Get a delivery
         * @description Returns a delivery with its body.
         */
        get: operations["getWebhooksByIdDeliveriesByDeliveryId"];
    };
    "/v1/webhooks/{id}/test": {
        /**
         * Send a test event
         * @description Sends a `webhook.test` event to this endpoint only, whatever `events` contains. Returns 409 while the endpoint is disabled.
         */
        post: operations["postWebhooksByIdTest"];
    };
    "/v1/webhooks/{id}/deliveries/{delivery_id}/redeliver": {
        /**
         * Resend a delivery
         * @description Sends the same event with the same `event_id` and a new series of attempts. Returns 409 while the delivery is pending.
         */
        post: operations["postWebhooksByIdDeliveriesByDeliveryIdRedeliver"];
    };
    "/v1/webhooks/{id}/redeliver": {
        /**
         * Resend all failed deliveries
         * @description Resends the deliveries that have failed since a time, oldest first, at most 10 000 in one call. `dry_run` only counts them.
         */
        post: operations["postWebhooksByIdRedeliver"];
    };
    "/v1/events": {
        /**
         * List events
         * @description Returns the events of the last 30 days.
         */
        get: operations["getEvents"];
    };
    "/v1/events/trigger": {
        /**
         * Trigger an event
         * @description Creates a test event with sample data and sends it to every endpoint that subscribes to its type. Its `data` has `test: true`.
         */
        post: operations["postEventsTrigger"];
    };
    "/v1/events/stream": {
        /**
         * Stream events
         * @description Sends events as they are recorded, as an event stream: `id` is the ID of the event, `event` its type, `data` the body that endpoints receive. Comments keep an idle stream open. `Last-Event-ID` resumes after that event; events of the seconds before it may be repeated, so compare `event_id`.
         */
        get: operations["getEventsStream"];
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @example {
         *       "error": {
         *         "type": "invalid_request",
         *         "message": "'name' is required.",
         *         "code": "missing_field",
         *         "param": "name",
         *         "request_id": "req_00000000exampleexample",
         *         "doc_url": "/docs/errors#missing_field"
         *       }
         *     }
         */
        Error: {
            error: {
                /** @description Stable: programs compare it. */
                type: string;
                /** @description For people. It may change. */
                message: string;
                /** @description More specific than `type`. */
                code: string;
                /** @description Path of the invalid parameter. */
                param?: string;
                /** @description Seconds. */
                retry_after?: number;
                request_id: string;
                /** @description Path of the documentation of the code, on this gateway. */
                doc_url?: string;
            };
        };
        /**
         * @description Unknown fields are sent to providers that document them; others are named in `x-turnpike-warnings`.
         * @example {
         *       "model": "turnpike-simulator",
         *       "messages": [
         *         {
         *           "role": "user",
         *           "content": "Hello!"
         *         }
         *       ]
         *     }
         */
        ChatCompletionRequest: {
            /** @description Model ID; GET /v1/models lists them. */
            model: string;
            messages: ({
                /** @description Author of the message. `developer` means the same as `system`. */
                role: "system" | "developer" | "user" | "assistant" | "tool";
                /** @description Text, null (assistant with tool calls), or a list of text, image_url, input_audio, file parts. */
                content?: unknown;
                name?: string;
                /** @description Tool calls of an assistant message. */
                tool_calls?: unknown[];
                /** @description For a tool message: the ID of the tool call that it answers. */
                tool_call_id?: string;
                refusal?: string | null;
                reasoning_content?: string | null;
            } & {
                [key: string]: unknown;
            })[];
            /** @description Sampling temperature. */
            temperature?: number;
            /** @description Maximum number of tokens in the answer. */
            max_tokens?: number;
            /** @description Newer name of `max_tokens`. */
            max_completion_tokens?: number;
            /** @default false */
            stream: boolean;
            stream_options?: {
                /** @description Sends a last chunk that contains only the usage. */
                include_usage?: boolean;
            };
            /** @description Nucleus sampling. */
            top_p?: number;
            stop?: string | string[];
            /** @default 1 */
            n: number;
            tools?: unknown[];
            tool_choice?: unknown;
            parallel_tool_calls?: boolean;
            /** @description text, json_object or json_schema. */
            response_format?: unknown;
            seed?: number;
            logprobs?: boolean;
            top_logprobs?: number;
            /** @description Penalizes frequent tokens. */
            frequency_penalty?: number;
            /** @description Penalizes tokens that are already present. */
            presence_penalty?: number;
            logit_bias?: {
                [key: string]: number;
            };
            /** @description none, minimal, low, medium, high, xhigh or max. */
            reasoning_effort?: string;
            user?: string;
            metadata?: {
                [key: string]: string;
            };
            service_tier?: string;
            store?: boolean;
            prediction?: unknown;
            modalities?: string[];
            /** @description IDs of models that answer, in order, where `model` cannot. */
            models?: string[];
            /** @description Which providers may answer, and in which order: `order`, `only`, `ignore`, `sort`, `max_price`, `allow_fallbacks`, `data_collection`, `zdr`, `require_parameters`; docs/routing.md. */
            provider?: unknown;
            /**
             * @description Says what `models` does anyway.
             * @enum {string}
             */
            route?: "fallback";
        } & {
            [key: string]: unknown;
        };
        ChatCompletion: {
            /** @description ID of the completion at the gateway, as in the usage log. */
            id: string;
            /** @enum {string} */
            object: "chat.completion";
            /** @description Unix seconds. */
            created: number;
            /** @description Requested model ID, or that of the fallback that answered. */
            model: string;
            choices: {
                index: number;
                message: {
                    /** @description Author of the message. `developer` means the same as `system`. */
                    role: "system" | "developer" | "user" | "assistant" | "tool";
                    /** @description Text, null (assistant with tool calls), or a list of text, image_url, input_audio, file parts. */
                    content?: unknown;
                    name?: string;
                    /** @description Tool calls of an assistant message. */
                    tool_calls?: unknown[];
                    /** @description For a tool message: the ID of the tool call that it answers. */
                    tool_call_id?: string;
                    refusal?: string | null;
                    reasoning_content?: string | null;
                } & {
                    [key: string]: unknown;
                };
                logprobs?: unknown;
                finish_reason: "stop" | "length" | "tool_calls" | "content_filter";
            }[];
            usage: {
                /** @description Including cached tokens. */
                prompt_tokens: number;
                /** @description Including reasoning tokens. */
                completion_tokens: number;
                total_tokens: number;
                prompt_tokens_details?: {
                    cached_tokens?: number;
                    cache_write_tokens?: number;
                };
                completion_tokens_details?: {
                    reasoning_tokens?: number;
                };
                /** @description USD, at most 9 decimals. */
                cost: number;
            };
            /** @description Several providers may answer, so there is none. */
            system_fingerprint: null;
        };
        /**
         * @description Other fields are named in `x-turnpike-warnings`.
         * @example {
         *       "model": "turnpike-simulator",
         *       "max_tokens": 100,
         *       "messages": [
         *         {
         *           "role": "user",
         *           "content": "Hello!"
         *         }
         *       ]
         *     }
         */
        MessagesRequest: {
            /** @description Model ID; GET /v1/models lists them. */
            model: string;
            messages: ({
                role: "user" | "assistant" | "system";
                /** @description A text, or content blocks. */
                content: string | ({
                    type: string;
                } & {
                    [key: string]: unknown;
                })[];
            } & {
                [key: string]: unknown;
            })[];
            /** @description Most tokens in the answer. */
            max_tokens: number;
            system?: (string | ({
                type: string;
            } & {
                [key: string]: unknown;
            })[]) | null;
            stream?: boolean | null;
            temperature?: number | null;
            top_p?: number | null;
            top_k?: number | null;
            stop_sequences?: string[] | null;
            tools?: unknown[] | null;
            /** @description `type` is auto, any, tool or none. */
            tool_choice?: {
                [key: string]: unknown;
            } | null;
            /** @description `type` is enabled (with `budget_tokens`), adaptive or disabled. */
            thinking?: {
                [key: string]: unknown;
            } | null;
            /** @description `effort`, and `format` of a structured answer. */
            output_config?: {
                [key: string]: unknown;
            } | null;
            metadata?: ({
                user_id?: string | null;
            } & {
                [key: string]: unknown;
            }) | null;
            service_tier?: string | null;
        } & {
            [key: string]: unknown;
        };
        Message: {
            id: string;
            /** @enum {string} */
            type: "message";
            /** @enum {string} */
            role: "assistant";
            /** @description The model ID of the request. */
            model: string;
            /** @description Blocks: text, thinking, redacted_thinking, tool_use. */
            content: ({
                type: string;
            } & {
                [key: string]: unknown;
            })[];
            /** @description end_turn, max_tokens, stop_sequence, tool_use, refusal, … */
            stop_reason: string;
            stop_sequence: string | null;
            usage: {
                /** @description Without those read from a cache or written to it. */
                input_tokens: number;
                cache_creation_input_tokens: number;
                cache_read_input_tokens: number;
                output_tokens: number;
                /** @description USD, at most 9 decimals. */
                cost: number;
            } & {
                [key: string]: unknown;
            };
        };
        MessagesError: {
            /** @enum {string} */
            type: "error";
            error: {
                /** @description As in that API: `invalid_request_error`, `overloaded_error`, … */
                type: string;
                /** @description For people; may change. */
                message: string;
                /** @description More exact than type. */
                code: string;
            } & {
                [key: string]: unknown;
            };
            request_id: string;
        };
        /**
         * @description Unknown fields are sent to providers that document them; others are named in `x-turnpike-warnings`.
         * @example {
         *       "model": "turnpike-simulator",
         *       "prompt": "Hello!"
         *     }
         */
        CompletionsRequest: {
            /** @description ID of a chat model; GET /v1/models lists them. */
            model: string;
            prompt: string | string[];
            suffix?: string | null;
            max_tokens?: number | null;
            temperature?: number | null;
            top_p?: number | null;
            n?: number | null;
            stop?: (string | string[]) | null;
            stream?: boolean | null;
            seed?: number | null;
            user?: string | null;
        } & {
            [key: string]: unknown;
        };
        TextCompletion: {
            /** @description ID of the completion at the gateway, as in the usage log. */
            id: string;
            /** @enum {string} */
            object: "text_completion";
            /** @description Unix seconds. */
            created: number;
            /** @description Requested model ID. */
            model: string;
            choices: {
                text: string;
                index: number;
                logprobs: null;
                finish_reason: "stop" | "length" | "content_filter";
            }[];
            usage: {
                prompt_tokens: number;
                completion_tokens: number;
                total_tokens: number;
                /** @description USD, at most 9 decimals. */
                cost: number;
            } & {
                [key: string]: unknown;
            };
        };
        /**
         * @description Unknown fields are sent to providers that document them; others are named in `x-turnpike-warnings`.
         * @example {
         *       "model": "text-embedding-3-small",
         *       "input": "Hello!"
         *     }
         */
        EmbeddingsRequest: {
            /** @description ID of an embedding model; GET /v1/models?kind=embedding lists them. */
            model: string;
            /** @description A text, several texts, or token IDs of one or several texts. */
            input: string | string[] | number[] | number[][];
            dimensions?: number | null;
            encoding_format?: ("float" | "base64") | null;
            user?: string | null;
        } & {
            [key: string]: unknown;
        };
        Embeddings: {
            /** @description ID of the request at the gateway, as in the usage log. */
            id: string;
            /** @enum {string} */
            object: "list";
            /** @description Requested model ID. */
            model: string;
            data: {
                /** @enum {string} */
                object: "embedding";
                /** @description Position of the input. */
                index: number;
                embedding: number[] | string;
            }[];
            usage: {
                prompt_tokens: number;
                total_tokens: number;
                /** @description USD, at most 9 decimals. */
                cost: number;
            };
        };
        /**
         * @description Unknown fields are sent to providers that document them; others are named in `x-turnpike-warnings`.
         * @example {
         *       "model": "rerank-v3.5",
         *       "query": "What is a turnpike?",
         *       "documents": [
         *         "A toll road.",
         *         "A fish."
         *       ]
         *     }
         */
        RerankRequest: {
            /** @description ID of a rerank model; GET /v1/models?kind=rerank lists them. */
            model: string;
            query: string;
            /** @description Texts to rank. */
            documents: (string | ({
                text: string;
            } & {
                [key: string]: unknown;
            }))[];
            top_n?: number | null;
            return_documents?: boolean | null;
        } & {
            [key: string]: unknown;
        };
        Ranking: {
            /** @description ID of the request at the gateway, as in the usage log. */
            id: string;
            /** @enum {string} */
            object: "list";
            /** @description Requested model ID. */
            model: string;
            /** @description The most relevant first. */
            results: {
                /** @description Position in `documents`. */
                index: number;
                relevance_score: number;
                document?: {
                    text: string;
                };
            }[];
            usage: {
                prompt_tokens: number;
                total_tokens: number;
                /** @description USD, at most 9 decimals. */
                cost: number;
            };
            meta: {
                api_version: {
                    version: string;
                };
                billed_units: {
                    search_units?: number;
                    input_tokens?: number;
                };
            };
        };
        /**
         * @description Other fields are named in `x-turnpike-warnings`.
         * @example {
         *       "model": "turnpike-simulator",
         *       "input": "Hello!"
         *     }
         */
        ResponsesRequest: {
            /** @description Model ID; GET /v1/models lists them. */
            model: string;
            /** @description A text, or items: message, reasoning, function_call, function_call_output, custom_tool_call, custom_tool_call_output, local_shell_call, local_shell_call_output, additional_tools, item_reference. */
            input: string | ({
                type?: string;
            } & {
                [key: string]: unknown;
            })[];
            instructions?: string | null;
            stream?: boolean | null;
            max_output_tokens?: number | null;
            tools?: unknown[] | null;
            /** @description none, auto, required, a tool by its name, or allowed_tools. */
            tool_choice?: unknown;
            parallel_tool_calls?: boolean | null;
            /** @description `format` of a structured answer, and `verbosity`. */
            text?: {
                [key: string]: unknown;
            } | null;
            /** @description `effort` and `summary`. */
            reasoning?: {
                [key: string]: unknown;
            } | null;
            include?: string[] | null;
            temperature?: number | null;
            top_p?: number | null;
            top_logprobs?: number | null;
            metadata?: {
                [key: string]: string;
            } | null;
            prompt_cache_key?: string | null;
            safety_identifier?: string | null;
            service_tier?: string | null;
            user?: string | null;
            store?: boolean | null;
            background?: boolean | null;
            previous_response_id?: string | null;
        } & {
            [key: string]: unknown;
        };
        /** @description As in the Open Responses specification; other fields repeat the request. */
        ResponseResource: {
            id: string;
            /** @enum {string} */
            object: "response";
            /** @description Unix seconds. */
            created_at: number;
            /** @description completed or incomplete. */
            status: string;
            /** @description The model ID of the request. */
            model: string;
            /** @description Items: reasoning, message, function_call, custom_tool_call, local_shell_call. */
            output: ({
                type?: string;
            } & {
                [key: string]: unknown;
            })[];
            incomplete_details: {
                /** @description max_output_tokens, content_filter. */
                reason: string;
            } | null;
            /** @description Whether it is stored. */
            store: boolean;
            usage: {
                /** @description Including those read from a cache. */
                input_tokens: number;
                /** @description Including those of reasoning. */
                output_tokens: number;
                total_tokens: number;
                /** @description USD, at most 9 decimals. */
                cost: number;
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getHealthz: {
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ok";
                        version: string;
                    };
                };
            };
        };
    };
    getReadyz: {
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ready" | "draining" | "unavailable";
                        /** @description Status by store: `database`, and `redis` if it is configured. */
                        checks: {
                            [key: string]: "ok" | "unavailable";
                        };
                    };
                };
            };
            /** @description Success. */
            503: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ready" | "draining" | "unavailable";
                        /** @description Status by store: `database`, and `redis` if it is configured. */
                        checks: {
                            [key: string]: "ok" | "unavailable";
                        };
                    };
                };
            };
        };
    };
    postDeviceCode: {
        requestBody: {
            content: {
                "application/x-www-form-urlencoded": {
                    /**
                     * @description `turnpike-cli`, `turnpike-ide`, or a client of the configuration.
                     * @example turnpike-cli
                     */
                    client_id: string;
                    /**
                     * @description Names separated by spaces.
                     * @example api
                     */
                    scope?: string;
                };
                "application/json": {
                    /**
                     * @description `turnpike-cli`, `turnpike-ide`, or a client of the configuration.
                     * @example turnpike-cli
                     */
                    client_id: string;
                    /**
                     * @description Names separated by spaces.
                     * @example api
                     */
                    scope?: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        device_code: string;
                        /** @description `XXXX-XXXX`. */
                        user_code: string;
                        verification_uri: string;
                        /** @description For a QR code. Opening it approves nothing. */
                        verification_uri_complete: string;
                        /** @description Seconds. */
                        expires_in: number;
                        /** @description Seconds between polls. */
                        interval: number;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": {
                        /** @description Error code of RFC 6749, 5.2, or RFC 8628, 3.5. */
                        error: string;
                        /** @description For people. It may change. */
                        error_description: string;
                    };
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": {
                        /** @description Error code of RFC 6749, 5.2, or RFC 8628, 3.5. */
                        error: string;
                        /** @description For people. It may change. */
                        error_description: string;
                    };
                };
            };
        };
    };
    postOauthToken: {
        requestBody: {
            content: {
                "application/x-www-form-urlencoded": {
                    /** @enum {string} */
                    grant_type: "urn:ietf:params:oauth:grant-type:device_code" | "refresh_token";
                    client_id?: string;
                    device_code?: string;
                    refresh_token?: string;
                    /**
                     * @description Names separated by spaces.
                     * @example api
                     */
                    scope?: string;
                };
                "application/json": {
                    /** @enum {string} */
                    grant_type: "urn:ietf:params:oauth:grant-type:device_code" | "refresh_token";
                    client_id?: string;
                    device_code?: string;
                    refresh_token?: string;
                    /**
                     * @description Names separated by spaces.
                     * @example api
                     */
                    scope?: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        access_token: string;
                        /** @enum {string} */
                        token_type: "Bearer";
                        /** @description Seconds. */
                        expires_in: number;
                        /** @description Present with the scope `offline_access`. */
                        refresh_token?: string;
                        /** @description Granted scopes, separated by spaces. */
                        scope: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": {
                        /** @description Error code of RFC 6749, 5.2, or RFC 8628, 3.5. */
                        error: string;
                        /** @description For people. It may change. */
                        error_description: string;
                    };
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": {
                        /** @description Error code of RFC 6749, 5.2, or RFC 8628, 3.5. */
                        error: string;
                        /** @description For people. It may change. */
                        error_description: string;
                    };
                };
            };
        };
    };
    postOauthRevoke: {
        requestBody: {
            content: {
                "application/x-www-form-urlencoded": {
                    token: string;
                    client_id?: string;
                };
                "application/json": {
                    token: string;
                    client_id?: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": {
                        /** @description Error code of RFC 6749, 5.2, or RFC 8628, 3.5. */
                        error: string;
                        /** @description For people. It may change. */
                        error_description: string;
                    };
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": {
                        /** @description Error code of RFC 6749, 5.2, or RFC 8628, 3.5. */
                        error: string;
                        /** @description For people. It may change. */
                        error_description: string;
                    };
                };
            };
        };
    };
    getWellKnownOauthAuthorizationServer: {
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        issuer: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": {
                        /** @description Error code of RFC 6749, 5.2, or RFC 8628, 3.5. */
                        error: string;
                        /** @description For people. It may change. */
                        error_description: string;
                    };
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": {
                        /** @description Error code of RFC 6749, 5.2, or RFC 8628, 3.5. */
                        error: string;
                        /** @description For people. It may change. */
                        error_description: string;
                    };
                };
            };
        };
    };
    postAuthSession: {
        requestBody?: {
            content: {
                "application/json": {
                    account_id?: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @description Bearer token for `/v1`. */
                        access_token: string;
                        /** @enum {string} */
                        token_type: "Bearer";
                        /** @description Seconds. */
                        expires_in: number;
                        user: {
                            id: string;
                            email: string;
                            name: string;
                        };
                        account: {
                            id: string;
                            name: string;
                        };
                        accounts: {
                            id: string;
                            name: string;
                            role: string;
                        }[];
                        role: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postAuthSignOut: {
        responses: {
            /** @description Signed out. */
            204: {
            };
            /** @description Response to a form: `Location` is the next page. */
            303: {
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postAuthLink: {
        requestBody: {
            content: {
                "application/json": {
                    token: string;
                };
                "application/x-www-form-urlencoded": {
                    token: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @description Bearer token for `/v1`. */
                        access_token: string;
                        /** @enum {string} */
                        token_type: "Bearer";
                        /** @description Seconds. */
                        expires_in: number;
                        user: {
                            id: string;
                            email: string;
                            name: string;
                        };
                        account: {
                            id: string;
                            name: string;
                        };
                        accounts: {
                            id: string;
                            name: string;
                            role: string;
                        }[];
                        role: string;
                    };
                };
            };
            /** @description Response to a form: `Location` is the next page. */
            303: {
            };
            /** @description The link is invalid, expired or used. The response to a form is a page. */
            401: {
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": string;
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postChatCompletions: {
        /** @description Unknown fields are sent to providers that document them; others are named in `x-turnpike-warnings`. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "model": "turnpike-simulator",
                 *       "messages": [
                 *         {
                 *           "role": "user",
                 *           "content": "Hello!"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": {
                    /** @description Model ID; GET /v1/models lists them. */
                    model: string;
                    messages: ({
                        /** @description Author of the message. `developer` means the same as `system`. */
                        role: "system" | "developer" | "user" | "assistant" | "tool";
                        /** @description Text, null (assistant with tool calls), or a list of text, image_url, input_audio, file parts. */
                        content?: unknown;
                        name?: string;
                        /** @description Tool calls of an assistant message. */
                        tool_calls?: unknown[];
                        /** @description For a tool message: the ID of the tool call that it answers. */
                        tool_call_id?: string;
                        refusal?: string | null;
                        reasoning_content?: string | null;
                    } & {
                        [key: string]: unknown;
                    })[];
                    /** @description Sampling temperature. */
                    temperature?: number;
                    /** @description Maximum number of tokens in the answer. */
                    max_tokens?: number;
                    /** @description Newer name of `max_tokens`. */
                    max_completion_tokens?: number;
                    /** @default false */
                    stream?: boolean;
                    stream_options?: {
                        /** @description Sends a last chunk that contains only the usage. */
                        include_usage?: boolean;
                    };
                    /** @description Nucleus sampling. */
                    top_p?: number;
                    stop?: string | string[];
                    /** @default 1 */
                    n?: number;
                    tools?: unknown[];
                    tool_choice?: unknown;
                    parallel_tool_calls?: boolean;
                    /** @description text, json_object or json_schema. */
                    response_format?: unknown;
                    seed?: number;
                    logprobs?: boolean;
                    top_logprobs?: number;
                    /** @description Penalizes frequent tokens. */
                    frequency_penalty?: number;
                    /** @description Penalizes tokens that are already present. */
                    presence_penalty?: number;
                    logit_bias?: {
                        [key: string]: number;
                    };
                    /** @description none, minimal, low, medium, high, xhigh or max. */
                    reasoning_effort?: string;
                    user?: string;
                    metadata?: {
                        [key: string]: string;
                    };
                    service_tier?: string;
                    store?: boolean;
                    prediction?: unknown;
                    modalities?: string[];
                    /** @description IDs of models that answer, in order, where `model` cannot. */
                    models?: string[];
                    /** @description Which providers may answer, and in which order: `order`, `only`, `ignore`, `sort`, `max_price`, `allow_fallbacks`, `data_collection`, `zdr`, `require_parameters`; docs/routing.md. */
                    provider?: unknown;
                    /**
                     * @description Says what `models` does anyway.
                     * @enum {string}
                     */
                    route?: "fallback";
                } & {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description The completion; with `stream: true` an event stream. */
            200: {
                content: {
                    "application/json": components["schemas"]["ChatCompletion"];
                    "text/event-stream": {
                        /** @description A chunk as JSON. */
                        data: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postMessages: {
        /** @description Other fields are named in `x-turnpike-warnings`. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "model": "turnpike-simulator",
                 *       "max_tokens": 100,
                 *       "messages": [
                 *         {
                 *           "role": "user",
                 *           "content": "Hello!"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": {
                    /** @description Model ID; GET /v1/models lists them. */
                    model: string;
                    messages: ({
                        role: "user" | "assistant" | "system";
                        /** @description A text, or content blocks. */
                        content: string | ({
                            type: string;
                        } & {
                            [key: string]: unknown;
                        })[];
                    } & {
                        [key: string]: unknown;
                    })[];
                    /** @description Most tokens in the answer. */
                    max_tokens: number;
                    system?: (string | ({
                        type: string;
                    } & {
                        [key: string]: unknown;
                    })[]) | null;
                    stream?: boolean | null;
                    temperature?: number | null;
                    top_p?: number | null;
                    top_k?: number | null;
                    stop_sequences?: string[] | null;
                    tools?: unknown[] | null;
                    /** @description `type` is auto, any, tool or none. */
                    tool_choice?: {
                        [key: string]: unknown;
                    } | null;
                    /** @description `type` is enabled (with `budget_tokens`), adaptive or disabled. */
                    thinking?: {
                        [key: string]: unknown;
                    } | null;
                    /** @description `effort`, and `format` of a structured answer. */
                    output_config?: {
                        [key: string]: unknown;
                    } | null;
                    metadata?: ({
                        user_id?: string | null;
                    } & {
                        [key: string]: unknown;
                    }) | null;
                    service_tier?: string | null;
                } & {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description The message; with `stream: true` an event stream. */
            200: {
                content: {
                    "application/json": components["schemas"]["Message"];
                    "text/event-stream": {
                        /** @description Resumes after it, as `Last-Event-ID`. */
                        id?: string;
                        event: string;
                        /** @description JSON. */
                        data: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
        };
    };
    postMessagesCountTokens: {
        requestBody: {
            content: {
                "application/json": {
                    /** @description Model ID; GET /v1/models lists them. */
                    model: string;
                    messages: ({
                        role: "user" | "assistant" | "system";
                        /** @description A text, or content blocks. */
                        content: string | ({
                            type: string;
                        } & {
                            [key: string]: unknown;
                        })[];
                    } & {
                        [key: string]: unknown;
                    })[];
                    system?: (string | ({
                        type: string;
                    } & {
                        [key: string]: unknown;
                    })[]) | null;
                    stream?: boolean | null;
                    temperature?: number | null;
                    top_p?: number | null;
                    top_k?: number | null;
                    stop_sequences?: string[] | null;
                    tools?: unknown[] | null;
                    /** @description `type` is auto, any, tool or none. */
                    tool_choice?: {
                        [key: string]: unknown;
                    } | null;
                    /** @description `type` is enabled (with `budget_tokens`), adaptive or disabled. */
                    thinking?: {
                        [key: string]: unknown;
                    } | null;
                    /** @description `effort`, and `format` of a structured answer. */
                    output_config?: {
                        [key: string]: unknown;
                    } | null;
                    metadata?: ({
                        user_id?: string | null;
                    } & {
                        [key: string]: unknown;
                    }) | null;
                    service_tier?: string | null;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        input_tokens: number;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
        };
    };
    postCompletions: {
        /** @description Unknown fields are sent to providers that document them; others are named in `x-turnpike-warnings`. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "model": "turnpike-simulator",
                 *       "prompt": "Hello!"
                 *     }
                 */
                "application/json": {
                    /** @description ID of a chat model; GET /v1/models lists them. */
                    model: string;
                    prompt: string | string[];
                    suffix?: string | null;
                    max_tokens?: number | null;
                    temperature?: number | null;
                    top_p?: number | null;
                    n?: number | null;
                    stop?: (string | string[]) | null;
                    stream?: boolean | null;
                    seed?: number | null;
                    user?: string | null;
                } & {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description The completion; with `stream: true` an event stream. */
            200: {
                content: {
                    "application/json": components["schemas"]["TextCompletion"];
                    "text/event-stream": {
                        /** @description A chunk as JSON. */
                        data: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postEmbeddings: {
        /** @description Unknown fields are sent to providers that document them; others are named in `x-turnpike-warnings`. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "model": "text-embedding-3-small",
                 *       "input": "Hello!"
                 *     }
                 */
                "application/json": {
                    /** @description ID of an embedding model; GET /v1/models?kind=embedding lists them. */
                    model: string;
                    /** @description A text, several texts, or token IDs of one or several texts. */
                    input: string | string[] | number[] | number[][];
                    dimensions?: number | null;
                    encoding_format?: ("float" | "base64") | null;
                    user?: string | null;
                } & {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Embeddings"];
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postRerank: {
        /** @description Unknown fields are sent to providers that document them; others are named in `x-turnpike-warnings`. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "model": "rerank-v3.5",
                 *       "query": "What is a turnpike?",
                 *       "documents": [
                 *         "A toll road.",
                 *         "A fish."
                 *       ]
                 *     }
                 */
                "application/json": {
                    /** @description ID of a rerank model; GET /v1/models?kind=rerank lists them. */
                    model: string;
                    query: string;
                    /** @description Texts to rank. */
                    documents: (string | ({
                        text: string;
                    } & {
                        [key: string]: unknown;
                    }))[];
                    top_n?: number | null;
                    return_documents?: boolean | null;
                } & {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Ranking"];
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postResponses: {
        /** @description Other fields are named in `x-turnpike-warnings`. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "model": "turnpike-simulator",
                 *       "input": "Hello!"
                 *     }
                 */
                "application/json": {
                    /** @description Model ID; GET /v1/models lists them. */
                    model: string;
                    /** @description A text, or items: message, reasoning, function_call, function_call_output, custom_tool_call, custom_tool_call_output, local_shell_call, local_shell_call_output, additional_tools, item_reference. */
                    input: string | ({
                        type?: string;
                    } & {
                        [key: string]: unknown;
                    })[];
                    instructions?: string | null;
                    stream?: boolean | null;
                    max_output_tokens?: number | null;
                    tools?: unknown[] | null;
                    /** @description none, auto, required, a tool by its name, or allowed_tools. */
                    tool_choice?: unknown;
                    parallel_tool_calls?: boolean | null;
                    /** @description `format` of a structured answer, and `verbosity`. */
                    text?: {
                        [key: string]: unknown;
                    } | null;
                    /** @description `effort` and `summary`. */
                    reasoning?: {
                        [key: string]: unknown;
                    } | null;
                    include?: string[] | null;
                    temperature?: number | null;
                    top_p?: number | null;
                    top_logprobs?: number | null;
                    metadata?: {
                        [key: string]: string;
                    } | null;
                    prompt_cache_key?: string | null;
                    safety_identifier?: string | null;
                    service_tier?: string | null;
                    user?: string | null;
                    store?: boolean | null;
                    background?: boolean | null;
                    previous_response_id?: string | null;
                } & {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description The response; with `stream: true` an event stream. */
            200: {
                content: {
                    "application/json": components["schemas"]["ResponseResource"];
                    "text/event-stream": {
                        event: string;
                        /** @description JSON. */
                        data: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postResponsesInputTokens: {
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResponsesRequest"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        object: "response.input_tokens";
                        input_tokens: number;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getResponsesById: {
        parameters: {
            query?: {
                /** @description Stored responses are read whole. */
                stream?: "false";
            };
            path: {
                id: string;
            };
        };
        responses: {
            /** @description As in the Open Responses specification; other fields repeat the request. */
            200: {
                content: {
                    "application/json": components["schemas"]["ResponseResource"];
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteResponsesById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "response";
                        /** @enum {boolean} */
                        deleted: true;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getResponsesByIdInputItems: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description By position. */
                order?: "asc" | "desc";
                /** @description ID of the last item of the previous page. */
                after?: string;
            };
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        object: "list";
                        data: ({
                            type: string;
                            id: string;
                        } & {
                            [key: string]: unknown;
                        })[];
                        first_id: string | null;
                        last_id: string | null;
                        has_more: boolean;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getModels: {
        parameters: {
            query?: {
                /**
                 * @description Only models with this capability.
                 * @example vision
                 */
                capability?: "streaming" | "function_calling" | "vision" | "json_mode";
                /** @description Only models of this kind. */
                kind?: "chat" | "embedding" | "rerank";
                /**
                 * @description Only models of this owner.
                 * @example openai
                 */
                owned_by?: string;
                /** @description Of Codex: adds `models`, in the form that it reads. */
                client_version?: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        object: "list";
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "model";
                            /** @description Release date in Unix seconds; 0: unknown. */
                            created: number;
                            /** @description Organisation that made the model. */
                            owned_by: string;
                            /** @description Display name. */
                            name: string;
                            /**
                             * @description Which endpoint calls it: chat completions, embeddings or rerank.
                             * @enum {unknown}
                             */
                            kind: "chat" | "embedding" | "rerank";
                            capabilities: {
                                streaming: boolean;
                                function_calling: boolean;
                                vision: boolean;
                                json_mode: boolean;
                            };
                            /** @description Maximum number of tokens of prompt and answer together; of embedding and rerank models, of each input. */
                            context_window: number;
                            /** @description Same as `context_window`, under the name that other tools read. */
                            context_length: number;
                            max_output_tokens: number | null;
                            /** @description Maximum inputs or documents of one request. Absent: not limited, or not known. */
                            max_inputs?: number;
                            pricing: {
                                /** @description USD per million prompt tokens. */
                                input_per_million: number;
                                /** @description USD per million completion tokens. */
                                output_per_million: number;
                                /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                cached_input_per_million?: number;
                                /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                cache_write_per_million?: number;
                                /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                cache_write_1h_per_million?: number;
                                /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                cache_write_12h_per_million?: number;
                                /** @description USD per million prompt tokens of audio. Absent: as input. */
                                audio_input_per_million?: number;
                                /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                cached_audio_input_per_million?: number;
                                /** @description USD per million completion tokens of audio. Absent: as output. */
                                audio_output_per_million?: number;
                                /** @description USD per million completion tokens of images. Absent: as output. */
                                image_output_per_million?: number;
                                /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                reasoning_output_per_million?: number;
                                /** @description Rates of long prompts: the highest tier whose threshold the prompt exceeds applies. */
                                tiers?: {
                                    /** @description Threshold that the prompt must exceed, including cached tokens. */
                                    above_prompt_tokens: number;
                                    /**
                                     * @description request: the tier prices the whole request. excess: the prompt above the threshold, and the output.
                                     * @enum {unknown}
                                     */
                                    applies_to: "request" | "excess";
                                    /** @description USD per million prompt tokens. */
                                    input_per_million?: number;
                                    /** @description USD per million completion tokens. */
                                    output_per_million?: number;
                                    /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                    cached_input_per_million?: number;
                                    /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                    cache_write_per_million?: number;
                                    /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                    cache_write_1h_per_million?: number;
                                    /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                    cache_write_12h_per_million?: number;
                                    /** @description USD per million prompt tokens of audio. Absent: as input. */
                                    audio_input_per_million?: number;
                                    /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                    cached_audio_input_per_million?: number;
                                    /** @description USD per million completion tokens of audio. Absent: as output. */
                                    audio_output_per_million?: number;
                                    /** @description USD per million completion tokens of images. Absent: as output. */
                                    image_output_per_million?: number;
                                    /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                    reasoning_output_per_million?: number;
                                }[];
                                /** @description Rates by the service tier of the answer. Absent rates are those of the price. */
                                service_tiers?: {
                                    [key: string]: {
                                        /** @description USD per million prompt tokens. */
                                        input_per_million?: number;
                                        /** @description USD per million completion tokens. */
                                        output_per_million?: number;
                                        /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                        cached_input_per_million?: number;
                                        /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                        cache_write_per_million?: number;
                                        /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                        cache_write_1h_per_million?: number;
                                        /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                        cache_write_12h_per_million?: number;
                                        /** @description USD per million prompt tokens of audio. Absent: as input. */
                                        audio_input_per_million?: number;
                                        /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                        cached_audio_input_per_million?: number;
                                        /** @description USD per million completion tokens of audio. Absent: as output. */
                                        audio_output_per_million?: number;
                                        /** @description USD per million completion tokens of images. Absent: as output. */
                                        image_output_per_million?: number;
                                        /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                        reasoning_output_per_million?: number;
                                        /** @description Rates of long prompts: the highest tier whose threshold the prompt exceeds applies. */
                                        tiers?: {
                                            /** @description Threshold that the prompt must exceed, including cached tokens. */
                                            above_prompt_tokens: number;
                                            /**
                                             * @description request: the tier prices the whole request. excess: the prompt above the threshold, and the output.
                                             * @enum {unknown}
                                             */
                                            applies_to: "request" | "excess";
                                            /** @description USD per million prompt tokens. */
                                            input_per_million?: number;
                                            /** @description USD per million completion tokens. */
                                            output_per_million?: number;
                                            /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                            cached_input_per_million?: number;
                                            /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                            cache_write_per_million?: number;
                                            /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                            cache_write_1h_per_million?: number;
                                            /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                            cache_write_12h_per_million?: number;
                                            /** @description USD per million prompt tokens of audio. Absent: as input. */
                                            audio_input_per_million?: number;
                                            /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                            cached_audio_input_per_million?: number;
                                            /** @description USD per million completion tokens of audio. Absent: as output. */
                                            audio_output_per_million?: number;
                                            /** @description USD per million completion tokens of images. Absent: as output. */
                                            image_output_per_million?: number;
                                            /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                            reasoning_output_per_million?: number;
                                        }[];
                                    };
                                };
                                /** @description Rates by the time of day at which a request is admitted. */
                                discounts?: {
                                    /** @description Time of day, UTC. */
                                    from: string;
                                    /** @description Time of day, UTC, exclusive. If it is before `from`, it is on the next day. */
                                    until: string;
                                    /** @description USD per million prompt tokens. */
                                    input_per_million?: number;
                                    /** @description USD per million completion tokens. */
                                    output_per_million?: number;
                                    /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                    cached_input_per_million?: number;
                                    /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                    cache_write_per_million?: number;
                                    /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                    cache_write_1h_per_million?: number;
                                    /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                    cache_write_12h_per_million?: number;
                                    /** @description USD per million prompt tokens of audio. Absent: as input. */
                                    audio_input_per_million?: number;
                                    /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                    cached_audio_input_per_million?: number;
                                    /** @description USD per million completion tokens of audio. Absent: as output. */
                                    audio_output_per_million?: number;
                                    /** @description USD per million completion tokens of images. Absent: as output. */
                                    image_output_per_million?: number;
                                    /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                    reasoning_output_per_million?: number;
                                }[];
                                /** @description USD per call of a provider. */
                                per_request_usd?: number;
                                /** @description USD per image in the request. */
                                per_image_usd?: number;
                                /** @description USD per 1,000 uses of a tool that the provider runs. */
                                server_tools?: {
                                    [key: string]: number;
                                };
                                /** @description Start of the price, ISO 8601 UTC. */
                                starts?: string;
                                /** @description End of the price, ISO 8601 UTC, exclusive. */
                                ends?: string;
                                /** @description Announced successors of the price, in order. */
                                successors?: {
                                    /** @description USD per million prompt tokens. */
                                    input_per_million: number;
                                    /** @description USD per million completion tokens. */
                                    output_per_million: number;
                                    /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                    cached_input_per_million?: number;
                                    /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                    cache_write_per_million?: number;
                                    /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                    cache_write_1h_per_million?: number;
                                    /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                    cache_write_12h_per_million?: number;
                                    /** @description USD per million prompt tokens of audio. Absent: as input. */
                                    audio_input_per_million?: number;
                                    /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                    cached_audio_input_per_million?: number;
                                    /** @description USD per million completion tokens of audio. Absent: as output. */
                                    audio_output_per_million?: number;
                                    /** @description USD per million completion tokens of images. Absent: as output. */
                                    image_output_per_million?: number;
                                    /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                    reasoning_output_per_million?: number;
                                    /** @description Rates of long prompts: the highest tier whose threshold the prompt exceeds applies. */
                                    tiers?: {
                                        /** @description Threshold that the prompt must exceed, including cached tokens. */
                                        above_prompt_tokens: number;
                                        /**
                                         * @description request: the tier prices the whole request. excess: the prompt above the threshold, and the output.
                                         * @enum {unknown}
                                         */
                                        applies_to: "request" | "excess";
                                        /** @description USD per million prompt tokens. */
                                        input_per_million?: number;
                                        /** @description USD per million completion tokens. */
                                        output_per_million?: number;
                                        /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                        cached_input_per_million?: number;
                                        /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                        cache_write_per_million?: number;
                                        /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                        cache_write_1h_per_million?: number;
                                        /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                        cache_write_12h_per_million?: number;
                                        /** @description USD per million prompt tokens of audio. Absent: as input. */
                                        audio_input_per_million?: number;
                                        /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                        cached_audio_input_per_million?: number;
                                        /** @description USD per million completion tokens of audio. Absent: as output. */
                                        audio_output_per_million?: number;
                                        /** @description USD per million completion tokens of images. Absent: as output. */
                                        image_output_per_million?: number;
                                        /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                        reasoning_output_per_million?: number;
                                    }[];
                                    /** @description Rates by the service tier of the answer. Absent rates are those of the price. */
                                    service_tiers?: {
                                        [key: string]: {
                                            /** @description USD per million prompt tokens. */
                                            input_per_million?: number;
                                            /** @description USD per million completion tokens. */
                                            output_per_million?: number;
                                            /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                            cached_input_per_million?: number;
                                            /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                            cache_write_per_million?: number;
                                            /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                            cache_write_1h_per_million?: number;
                                            /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                            cache_write_12h_per_million?: number;
                                            /** @description USD per million prompt tokens of audio. Absent: as input. */
                                            audio_input_per_million?: number;
                                            /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                            cached_audio_input_per_million?: number;
                                            /** @description USD per million completion tokens of audio. Absent: as output. */
                                            audio_output_per_million?: number;
                                            /** @description USD per million completion tokens of images. Absent: as output. */
                                            image_output_per_million?: number;
                                            /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                            reasoning_output_per_million?: number;
                                            /** @description Rates of long prompts: the highest tier whose threshold the prompt exceeds applies. */
                                            tiers?: {
                                                /** @description Threshold that the prompt must exceed, including cached tokens. */
                                                above_prompt_tokens: number;
                                                /**
                                                 * @description request: the tier prices the whole request. excess: the prompt above the threshold, and the output.
                                                 * @enum {unknown}
                                                 */
                                                applies_to: "request" | "excess";
                                                /** @description USD per million prompt tokens. */
                                                input_per_million?: number;
                                                /** @description USD per million completion tokens. */
                                                output_per_million?: number;
                                                /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                                cached_input_per_million?: number;
                                                /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                                cache_write_per_million?: number;
                                                /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                                cache_write_1h_per_million?: number;
                                                /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                                cache_write_12h_per_million?: number;
                                                /** @description USD per million prompt tokens of audio. Absent: as input. */
                                                audio_input_per_million?: number;
                                                /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                                cached_audio_input_per_million?: number;
                                                /** @description USD per million completion tokens of audio. Absent: as output. */
                                                audio_output_per_million?: number;
                                                /** @description USD per million completion tokens of images. Absent: as output. */
                                                image_output_per_million?: number;
                                                /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                                reasoning_output_per_million?: number;
                                            }[];
                                        };
                                    };
                                    /** @description Rates by the time of day at which a request is admitted. */
                                    discounts?: {
                                        /** @description Time of day, UTC. */
                                        from: string;
                                        /** @description Time of day, UTC, exclusive. If it is before `from`, it is on the next day. */
                                        until: string;
                                        /** @description USD per million prompt tokens. */
                                        input_per_million?: number;
                                        /** @description USD per million completion tokens. */
                                        output_per_million?: number;
                                        /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                        cached_input_per_million?: number;
                                        /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                        cache_write_per_million?: number;
                                        /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                        cache_write_1h_per_million?: number;
                                        /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                        cache_write_12h_per_million?: number;
                                        /** @description USD per million prompt tokens of audio. Absent: as input. */
                                        audio_input_per_million?: number;
                                        /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                        cached_audio_input_per_million?: number;
                                        /** @description USD per million completion tokens of audio. Absent: as output. */
                                        audio_output_per_million?: number;
                                        /** @description USD per million completion tokens of images. Absent: as output. */
                                        image_output_per_million?: number;
                                        /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                        reasoning_output_per_million?: number;
                                    }[];
                                    /** @description USD per call of a provider. */
                                    per_request_usd?: number;
                                    /** @description USD per image in the request. */
                                    per_image_usd?: number;
                                    /** @description USD per 1,000 uses of a tool that the provider runs. */
                                    server_tools?: {
                                        [key: string]: number;
                                    };
                                    /** @description Start of the price, ISO 8601 UTC. */
                                    starts?: string;
                                    /** @description End of the price, ISO 8601 UTC, exclusive. */
                                    ends?: string;
                                }[];
                            } | null;
                            /** @description Only of a virtual model: what it stands for. Its `pricing` is that of the model that answers. */
                            virtual?: {
                                /** @enum {unknown} */
                                strategy: "priority" | "weighted" | "cheapest" | "fastest" | "least_busy";
                                /** @enum {unknown} */
                                sticky: "conversation" | "user" | "none";
                                candidates: {
                                    model: string;
                                    weight: number;
                                }[];
                                /** @description Prices of the candidates now. Null: none has one. */
                                price_range: {
                                    /** @description USD per million prompt tokens. */
                                    input_per_million: {
                                        min: number;
                                        max: number;
                                    };
                                    /** @description USD per million completion tokens. */
                                    output_per_million: {
                                        min: number;
                                        max: number;
                                    };
                                } | null;
                            };
                            /** @description ID of the model that this alias names. */
                            alias_of?: string;
                            architecture: {
                                input_modalities: string[];
                                output_modalities: string[];
                            };
                            /** @description Request fields that the model supports. */
                            supported_parameters: string[];
                            price_source: {
                                /** @description Page that the price was read on. */
                                url: string;
                                /** @description ISO date on which the price was read. */
                                read: string;
                            } | null;
                            /** @description Whether the operator’s configuration overrides the price of the catalogue. */
                            price_overridden: boolean;
                            /** @description Providers of the model, in the order in which the gateway tries them; unhealthy ones come last. */
                            providers: {
                                /** @description Name of the provider in the configuration. */
                                name: string;
                                /** @description Whether the responding process would call this provider for the model now. */
                                healthy: boolean;
                            }[];
                            deprecation_date: string | null;
                            /** @description Whether this date is past. */
                            deprecated: boolean;
                            replacement: string | null;
                        }[];
                        /** @description With `client_version`: the chat models as Codex reads them. */
                        models?: ({
                            slug: string;
                            context_window: number;
                        } & {
                            [key: string]: unknown;
                        })[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getModelsById: {
        parameters: {
            path: {
                /** @description Model ID. */
                id: string;
            };
        };
        responses: {
            /** @description A model that the key can use. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "model";
                        /** @description Release date in Unix seconds; 0: unknown. */
                        created: number;
                        /** @description Organisation that made the model. */
                        owned_by: string;
                        /** @description Display name. */
                        name: string;
                        /**
                         * @description Which endpoint calls it: chat completions, embeddings or rerank.
                         * @enum {unknown}
                         */
                        kind: "chat" | "embedding" | "rerank";
                        capabilities: {
                            streaming: boolean;
                            function_calling: boolean;
                            vision: boolean;
                            json_mode: boolean;
                        };
                        /** @description Maximum number of tokens of prompt and answer together; of embedding and rerank models, of each input. */
                        context_window: number;
                        /** @description Same as `context_window`, under the name that other tools read. */
                        context_length: number;
                        max_output_tokens: number | null;
                        /** @description Maximum inputs or documents of one request. Absent: not limited, or not known. */
                        max_inputs?: number;
                        pricing: {
                            /** @description USD per million prompt tokens. */
                            input_per_million: number;
                            /** @description USD per million completion tokens. */
                            output_per_million: number;
                            /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                            cached_input_per_million?: number;
                            /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                            cache_write_per_million?: number;
                            /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                            cache_write_1h_per_million?: number;
                            /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                            cache_write_12h_per_million?: number;
                            /** @description USD per million prompt tokens of audio. Absent: as input. */
                            audio_input_per_million?: number;
                            /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                            cached_audio_input_per_million?: number;
                            /** @description USD per million completion tokens of audio. Absent: as output. */
                            audio_output_per_million?: number;
                            /** @description USD per million completion tokens of images. Absent: as output. */
                            image_output_per_million?: number;
                            /** @description USD per million completion tokens of reasoning. Absent: as output. */
                            reasoning_output_per_million?: number;
                            /** @description Rates of long prompts: the highest tier whose threshold the prompt exceeds applies. */
                            tiers?: {
                                /** @description Threshold that the prompt must exceed, including cached tokens. */
                                above_prompt_tokens: number;
                                /**
                                 * @description request: the tier prices the whole request. excess: the prompt above the threshold, and the output.
                                 * @enum {unknown}
                                 */
                                applies_to: "request" | "excess";
                                /** @description USD per million prompt tokens. */
                                input_per_million?: number;
                                /** @description USD per million completion tokens. */
                                output_per_million?: number;
                                /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                cached_input_per_million?: number;
                                /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                cache_write_per_million?: number;
                                /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                cache_write_1h_per_million?: number;
                                /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                cache_write_12h_per_million?: number;
                                /** @description USD per million prompt tokens of audio. Absent: as input. */
                                audio_input_per_million?: number;
                                /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                cached_audio_input_per_million?: number;
                                /** @description USD per million completion tokens of audio. Absent: as output. */
                                audio_output_per_million?: number;
                                /** @description USD per million completion tokens of images. Absent: as output. */
                                image_output_per_million?: number;
                                /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                reasoning_output_per_million?: number;
                            }[];
                            /** @description Rates by the service tier of the answer. Absent rates are those of the price. */
                            service_tiers?: {
                                [key: string]: {
                                    /** @description USD per million prompt tokens. */
                                    input_per_million?: number;
                                    /** @description USD per million completion tokens. */
                                    output_per_million?: number;
                                    /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                    cached_input_per_million?: number;
                                    /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                    cache_write_per_million?: number;
                                    /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                    cache_write_1h_per_million?: number;
                                    /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                    cache_write_12h_per_million?: number;
                                    /** @description USD per million prompt tokens of audio. Absent: as input. */
                                    audio_input_per_million?: number;
                                    /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                    cached_audio_input_per_million?: number;
                                    /** @description USD per million completion tokens of audio. Absent: as output. */
                                    audio_output_per_million?: number;
                                    /** @description USD per million completion tokens of images. Absent: as output. */
                                    image_output_per_million?: number;
                                    /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                    reasoning_output_per_million?: number;
                                    /** @description Rates of long prompts: the highest tier whose threshold the prompt exceeds applies. */
                                    tiers?: {
                                        /** @description Threshold that the prompt must exceed, including cached tokens. */
                                        above_prompt_tokens: number;
                                        /**
                                         * @description request: the tier prices the whole request. excess: the prompt above the threshold, and the output.
                                         * @enum {unknown}
                                         */
                                        applies_to: "request" | "excess";
                                        /** @description USD per million prompt tokens. */
                                        input_per_million?: number;
                                        /** @description USD per million completion tokens. */
                                        output_per_million?: number;
                                        /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                        cached_input_per_million?: number;
                                        /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                        cache_write_per_million?: number;
                                        /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                        cache_write_1h_per_million?: number;
                                        /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                        cache_write_12h_per_million?: number;
                                        /** @description USD per million prompt tokens of audio. Absent: as input. */
                                        audio_input_per_million?: number;
                                        /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                        cached_audio_input_per_million?: number;
                                        /** @description USD per million completion tokens of audio. Absent: as output. */
                                        audio_output_per_million?: number;
                                        /** @description USD per million completion tokens of images. Absent: as output. */
                                        image_output_per_million?: number;
                                        /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                        reasoning_output_per_million?: number;
                                    }[];
                                };
                            };
                            /** @description Rates by the time of day at which a request is admitted. */
                            discounts?: {
                                /** @description Time of day, UTC. */
                                from: string;
                                /** @description Time of day, UTC, exclusive. If it is before `from`, it is on the next day. */
                                until: string;
                                /** @description USD per million prompt tokens. */
                                input_per_million?: number;
                                /** @description USD per million completion tokens. */
                                output_per_million?: number;
                                /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                cached_input_per_million?: number;
                                /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                cache_write_per_million?: number;
                                /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                cache_write_1h_per_million?: number;
                                /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                cache_write_12h_per_million?: number;
                                /** @description USD per million prompt tokens of audio. Absent: as input. */
                                audio_input_per_million?: number;
                                /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                cached_audio_input_per_million?: number;
                                /** @description USD per million completion tokens of audio. Absent: as output. */
                                audio_output_per_million?: number;
                                /** @description USD per million completion tokens of images. Absent: as output. */
                                image_output_per_million?: number;
                                /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                reasoning_output_per_million?: number;
                            }[];
                            /** @description USD per call of a provider. */
                            per_request_usd?: number;
                            /** @description USD per image in the request. */
                            per_image_usd?: number;
                            /** @description USD per 1,000 uses of a tool that the provider runs. */
                            server_tools?: {
                                [key: string]: number;
                            };
                            /** @description Start of the price, ISO 8601 UTC. */
                            starts?: string;
                            /** @description End of the price, ISO 8601 UTC, exclusive. */
                            ends?: string;
                            /** @description Announced successors of the price, in order. */
                            successors?: {
                                /** @description USD per million prompt tokens. */
                                input_per_million: number;
                                /** @description USD per million completion tokens. */
                                output_per_million: number;
                                /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                cached_input_per_million?: number;
                                /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                cache_write_per_million?: number;
                                /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                cache_write_1h_per_million?: number;
                                /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                cache_write_12h_per_million?: number;
                                /** @description USD per million prompt tokens of audio. Absent: as input. */
                                audio_input_per_million?: number;
                                /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                cached_audio_input_per_million?: number;
                                /** @description USD per million completion tokens of audio. Absent: as output. */
                                audio_output_per_million?: number;
                                /** @description USD per million completion tokens of images. Absent: as output. */
                                image_output_per_million?: number;
                                /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                reasoning_output_per_million?: number;
                                /** @description Rates of long prompts: the highest tier whose threshold the prompt exceeds applies. */
                                tiers?: {
                                    /** @description Threshold that the prompt must exceed, including cached tokens. */
                                    above_prompt_tokens: number;
                                    /**
                                     * @description request: the tier prices the whole request. excess: the prompt above the threshold, and the output.
                                     * @enum {unknown}
                                     */
                                    applies_to: "request" | "excess";
                                    /** @description USD per million prompt tokens. */
                                    input_per_million?: number;
                                    /** @description USD per million completion tokens. */
                                    output_per_million?: number;
                                    /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                    cached_input_per_million?: number;
                                    /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                    cache_write_per_million?: number;
                                    /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                    cache_write_1h_per_million?: number;
                                    /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                    cache_write_12h_per_million?: number;
                                    /** @description USD per million prompt tokens of audio. Absent: as input. */
                                    audio_input_per_million?: number;
                                    /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                    cached_audio_input_per_million?: number;
                                    /** @description USD per million completion tokens of audio. Absent: as output. */
                                    audio_output_per_million?: number;
                                    /** @description USD per million completion tokens of images. Absent: as output. */
                                    image_output_per_million?: number;
                                    /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                    reasoning_output_per_million?: number;
                                }[];
                                /** @description Rates by the service tier of the answer. Absent rates are those of the price. */
                                service_tiers?: {
                                    [key: string]: {
                                        /** @description USD per million prompt tokens. */
                                        input_per_million?: number;
                                        /** @description USD per million completion tokens. */
                                        output_per_million?: number;
                                        /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                        cached_input_per_million?: number;
                                        /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                        cache_write_per_million?: number;
                                        /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                        cache_write_1h_per_million?: number;
                                        /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                        cache_write_12h_per_million?: number;
                                        /** @description USD per million prompt tokens of audio. Absent: as input. */
                                        audio_input_per_million?: number;
                                        /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                        cached_audio_input_per_million?: number;
                                        /** @description USD per million completion tokens of audio. Absent: as output. */
                                        audio_output_per_million?: number;
                                        /** @description USD per million completion tokens of images. Absent: as output. */
                                        image_output_per_million?: number;
                                        /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                        reasoning_output_per_million?: number;
                                        /** @description Rates of long prompts: the highest tier whose threshold the prompt exceeds applies. */
                                        tiers?: {
                                            /** @description Threshold that the prompt must exceed, including cached tokens. */
                                            above_prompt_tokens: number;
                                            /**
                                             * @description request: the tier prices the whole request. excess: the prompt above the threshold, and the output.
                                             * @enum {unknown}
                                             */
                                            applies_to: "request" | "excess";
                                            /** @description USD per million prompt tokens. */
                                            input_per_million?: number;
                                            /** @description USD per million completion tokens. */
                                            output_per_million?: number;
                                            /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                            cached_input_per_million?: number;
                                            /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                            cache_write_per_million?: number;
                                            /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                            cache_write_1h_per_million?: number;
                                            /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                            cache_write_12h_per_million?: number;
                                            /** @description USD per million prompt tokens of audio. Absent: as input. */
                                            audio_input_per_million?: number;
                                            /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                            cached_audio_input_per_million?: number;
                                            /** @description USD per million completion tokens of audio. Absent: as output. */
                                            audio_output_per_million?: number;
                                            /** @description USD per million completion tokens of images. Absent: as output. */
                                            image_output_per_million?: number;
                                            /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                            reasoning_output_per_million?: number;
                                        }[];
                                    };
                                };
                                /** @description Rates by the time of day at which a request is admitted. */
                                discounts?: {
                                    /** @description Time of day, UTC. */
                                    from: string;
                                    /** @description Time of day, UTC, exclusive. If it is before `from`, it is on the next day. */
                                    until: string;
                                    /** @description USD per million prompt tokens. */
                                    input_per_million?: number;
                                    /** @description USD per million completion tokens. */
                                    output_per_million?: number;
                                    /** @description USD per million prompt tokens read from the cache. Absent: as input. */
                                    cached_input_per_million?: number;
                                    /** @description USD per million prompt tokens written to the cache. Absent: as input. */
                                    cache_write_per_million?: number;
                                    /** @description USD per million prompt tokens written to the cache for an hour. Absent: as cache_write. */
                                    cache_write_1h_per_million?: number;
                                    /** @description USD per million prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h. */
                                    cache_write_12h_per_million?: number;
                                    /** @description USD per million prompt tokens of audio. Absent: as input. */
                                    audio_input_per_million?: number;
                                    /** @description USD per million prompt tokens of audio read from the cache. Absent: as cached_input. */
                                    cached_audio_input_per_million?: number;
                                    /** @description USD per million completion tokens of audio. Absent: as output. */
                                    audio_output_per_million?: number;
                                    /** @description USD per million completion tokens of images. Absent: as output. */
                                    image_output_per_million?: number;
                                    /** @description USD per million completion tokens of reasoning. Absent: as output. */
                                    reasoning_output_per_million?: number;
                                }[];
                                /** @description USD per call of a provider. */
                                per_request_usd?: number;
                                /** @description USD per image in the request. */
                                per_image_usd?: number;
                                /** @description USD per 1,000 uses of a tool that the provider runs. */
                                server_tools?: {
                                    [key: string]: number;
                                };
                                /** @description Start of the price, ISO 8601 UTC. */
                                starts?: string;
                                /** @description End of the price, ISO 8601 UTC, exclusive. */
                                ends?: string;
                            }[];
                        } | null;
                        /** @description Only of a virtual model: what it stands for. Its `pricing` is that of the model that answers. */
                        virtual?: {
                            /** @enum {unknown} */
                            strategy: "priority" | "weighted" | "cheapest" | "fastest" | "least_busy";
                            /** @enum {unknown} */
                            sticky: "conversation" | "user" | "none";
                            candidates: {
                                model: string;
                                weight: number;
                            }[];
                            /** @description Prices of the candidates now. Null: none has one. */
                            price_range: {
                                /** @description USD per million prompt tokens. */
                                input_per_million: {
                                    min: number;
                                    max: number;
                                };
                                /** @description USD per million completion tokens. */
                                output_per_million: {
                                    min: number;
                                    max: number;
                                };
                            } | null;
                        };
                        /** @description ID of the model that this alias names. */
                        alias_of?: string;
                        architecture: {
                            input_modalities: string[];
                            output_modalities: string[];
                        };
                        /** @description Request fields that the model supports. */
                        supported_parameters: string[];
                        price_source: {
                            /** @description Page that the price was read on. */
                            url: string;
                            /** @description ISO date on which the price was read. */
                            read: string;
                        } | null;
                        /** @description Whether the operator’s configuration overrides the price of the catalogue. */
                        price_overridden: boolean;
                        /** @description Providers of the model, in the order in which the gateway tries them; unhealthy ones come last. */
                        providers: {
                            /** @description Name of the provider in the configuration. */
                            name: string;
                            /** @description Whether the responding process would call this provider for the model now. */
                            healthy: boolean;
                        }[];
                        deprecation_date: string | null;
                        /** @description Whether this date is past. */
                        deprecated: boolean;
                        replacement: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getKeys: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
                /** @description active: not revoked, expired or disabled. expired: past `expires_at` and not revoked. disabled: neither expired nor revoked. */
                status?: "active" | "disabled" | "revoked" | "expired" | "all";
                /** @description Only keys of this team. */
                team_id?: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "key";
                            name: string;
                            /** @description First characters of the secret. */
                            prefix: string;
                            /** @description Last characters of the secret. */
                            last4: string;
                            scopes: ("chat" | "models:read" | "usage:read" | "agents:read" | "agents:write" | "webhooks" | "keys" | "members" | "teams" | "scim" | "billing" | "operator")[];
                            ip_allowlist: string[];
                            monthly_budget_usd: number | null;
                            requests_per_minute: number | null;
                            models: string[];
                            /** @description What deployments that answer requests of the key and of keys that it creates must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                            data_policy: {
                                /**
                                 * @description deny: only deployments that do not keep data to train on.
                                 * @enum {string}
                                 */
                                data_collection?: "allow" | "deny";
                                /** @description true: only deployments with zero data retention. */
                                zdr?: boolean;
                                /** @description Only deployments in one of these regions. */
                                regions?: string[];
                            } | null;
                            created_at: string;
                            last_used_at: string | null;
                            expires_at: string | null;
                            revoked_at: string | null;
                            /** @description Since when it is refused. Null: it is enabled. */
                            disabled_at: string | null;
                            /** @description The secret before the last rotation, and until when it is or was valid. Null: none. */
                            previous_secret: {
                                /** @description Last characters of the secret. */
                                last4: string;
                                /** @description ISO 8601 UTC. */
                                valid_until: string;
                            } | null;
                            /** @description Tags of its requests, unless they say otherwise. */
                            tags: {
                                [key: string]: string;
                            };
                            /** @description Keys of tags that its requests must have. */
                            require_tags: string[];
                            /** @description The person who created the key, whose rights it cannot exceed. Null: no person did. */
                            created_by: {
                                user_id: string;
                                email: string;
                                name: string;
                            } | null;
                            /** @description The key that created this one, whose limits it cannot exceed, and whose budget and rate limit it shares. Null: none. */
                            parent_id: string | null;
                            /** @description The team that it belongs to. Null: to the account. */
                            team_id: string | null;
                            /** @description Spending of the key and the keys that it created in this calendar month, UTC. Null: the key has no budget. */
                            spent_usd: number | null;
                            /** @description Time at which the budget resets, ISO 8601. Null: the key has no budget. */
                            resets_at: string | null;
                            /** @description Its budgets besides `monthly_budget_usd`. */
                            budgets: {
                                id: string;
                                /** @enum {string} */
                                object: "budget";
                                /** @enum {string} */
                                level: "account" | "team" | "member" | "key" | "tag";
                                /** @description ID of the account, team, user or key; of a tag `key=value`. */
                                subject: string;
                                /** @description USD, at most 9 decimals. The limit without raises. */
                                usd: number;
                                /** @enum {string} */
                                window: "day" | "week" | "month" | "quarter" | "total";
                                /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                                starts: string | null;
                                timezone: string;
                                /** @enum {string} */
                                action: "block" | "warn";
                                /** @description USD, at most 9 decimals. The limit with the raises in force. */
                                limit_usd: number;
                                /** @description USD, at most 9 decimals. Charged in the current window. */
                                spent_usd: number;
                                /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                                held_usd: number;
                                /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                                remaining_usd: number;
                                /** @description Start of the current window, ISO 8601. */
                                window_start: string;
                                /** @description End of the current window, ISO 8601. Null: it never resets. */
                                resets_at: string | null;
                                /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                                forecast_exhausted_at: string | null;
                                /** @description Raises in force. */
                                raises: {
                                    id: string;
                                    /** @description USD, at most 9 decimals. Added to the limit. */
                                    usd: number;
                                    reason: string;
                                    created_at: string;
                                    ends_at: string;
                                }[];
                            }[];
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postKeys: {
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    /** @description Team that the key belongs to, whose limits apply to it. Default: that of the key that creates it, or none: it belongs to the account. */
                    team_id?: string | null;
                    /** @description Empty: full access. */
                    scopes?: ("chat" | "models:read" | "usage:read" | "agents:read" | "agents:write" | "webhooks" | "keys" | "members" | "teams" | "scim" | "billing" | "operator")[];
                    /** @description Addresses and CIDR blocks. An empty list allows every address. */
                    ip_allowlist?: string[];
                    monthly_budget_usd?: number | null;
                    requests_per_minute?: number | null;
                    /** @description Empty: all models. */
                    models?: string[];
                    /** @description What deployments that answer requests of the key and of keys that it creates must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                    data_policy?: {
                        /**
                         * @description deny: only deployments that do not keep data to train on.
                         * @enum {string}
                         */
                        data_collection?: "allow" | "deny";
                        /** @description true: only deployments with zero data retention. */
                        zdr?: boolean;
                        /** @description Only deployments in one of these regions. */
                        regions?: string[];
                    } | null;
                    /**
                     * @description ISO 8601, in the future. Null: the key does not expire.
                     * @example 2030-01-01T00:00:00Z
                     */
                    expires_at?: string | null;
                    /**
                     * @description Tags of its requests, unless they say otherwise. At most 10; see docs/chargeback.md.
                     * @example {
                     *       "team": "search"
                     *     }
                     */
                    tags?: {
                        [key: string]: string;
                    };
                    /**
                     * @description Keys of tags that its requests must have. Others get 400.
                     * @example [
                     *       "customer"
                     *     ]
                     */
                    require_tags?: string[];
                    /** @description Replaces all budgets. Those with the same window, time zone and start keep what is spent. */
                    budgets?: {
                        /** @description USD, at most 9 decimals. */
                        usd: number;
                        /**
                         * @description total: it never resets.
                         * @enum {string}
                         */
                        window: "day" | "week" | "month" | "quarter" | "total";
                        /**
                         * @description Start of the first window, from which the others are counted: a date in the time zone, or an ISO 8601 time. Null: windows of the calendar.
                         * @example 2030-01-01
                         */
                        starts?: string | null;
                        /** @description IANA name. Default: UTC. */
                        timezone?: string;
                        /**
                         * @description block (default): rejects requests beyond it with 402. warn: alerts only.
                         * @enum {string}
                         */
                        action?: "block" | "warn";
                    }[];
                };
            };
        };
        responses: {
            /** @description Success. */
            201: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "key";
                        name: string;
                        /** @description First characters of the secret. */
                        prefix: string;
                        /** @description Last characters of the secret. */
                        last4: string;
                        scopes: ("chat" | "models:read" | "usage:read" | "agents:read" | "agents:write" | "webhooks" | "keys" | "members" | "teams" | "scim" | "billing" | "operator")[];
                        ip_allowlist: string[];
                        monthly_budget_usd: number | null;
                        requests_per_minute: number | null;
                        models: string[];
                        /** @description What deployments that answer requests of the key and of keys that it creates must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                        data_policy: {
                            /**
                             * @description deny: only deployments that do not keep data to train on.
                             * @enum {string}
                             */
                            data_collection?: "allow" | "deny";
                            /** @description true: only deployments with zero data retention. */
                            zdr?: boolean;
                            /** @description Only deployments in one of these regions. */
                            regions?: string[];
                        } | null;
                        created_at: string;
                        last_used_at: string | null;
                        expires_at: string | null;
                        revoked_at: string | null;
                        /** @description Since when it is refused. Null: it is enabled. */
                        disabled_at: string | null;
                        /** @description The secret before the last rotation, and until when it is or was valid. Null: none. */
                        previous_secret: {
                            /** @description Last characters of the secret. */
                            last4: string;
                            /** @description ISO 8601 UTC. */
                            valid_until: string;
                        } | null;
                        /** @description Tags of its requests, unless they say otherwise. */
                        tags: {
                            [key: string]: string;
                        };
                        /** @description Keys of tags that its requests must have. */
                        require_tags: string[];
                        /** @description The person who created the key, whose rights it cannot exceed. Null: no person did. */
                        created_by: {
                            user_id: string;
                            email: string;
                            name: string;
                        } | null;
                        /** @description The key that created this one, whose limits it cannot exceed, and whose budget and rate limit it shares. Null: none. */
                        parent_id: string | null;
                        /** @description The team that it belongs to. Null: to the account. */
                        team_id: string | null;
                        /** @description Spending of the key and the keys that it created in this calendar month, UTC. Null: the key has no budget. */
                        spent_usd: number | null;
                        /** @description Time at which the budget resets, ISO 8601. Null: the key has no budget. */
                        resets_at: string | null;
                        /** @description Its budgets besides `monthly_budget_usd`. */
                        budgets: {
                            id: string;
                            /** @enum {string} */
                            object: "budget";
                            /** @enum {string} */
                            level: "account" | "team" | "member" | "key" | "tag";
                            /** @description ID of the account, team, user or key; of a tag `key=value`. */
                            subject: string;
                            /** @description USD, at most 9 decimals. The limit without raises. */
                            usd: number;
                            /** @enum {string} */
                            window: "day" | "week" | "month" | "quarter" | "total";
                            /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                            starts: string | null;
                            timezone: string;
                            /** @enum {string} */
                            action: "block" | "warn";
                            /** @description USD, at most 9 decimals. The limit with the raises in force. */
                            limit_usd: number;
                            /** @description USD, at most 9 decimals. Charged in the current window. */
                            spent_usd: number;
                            /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                            held_usd: number;
                            /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                            remaining_usd: number;
                            /** @description Start of the current window, ISO 8601. */
                            window_start: string;
                            /** @description End of the current window, ISO 8601. Null: it never resets. */
                            resets_at: string | null;
                            /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                            forecast_exhausted_at: string | null;
                            /** @description Raises in force. */
                            raises: {
                                id: string;
                                /** @description USD, at most 9 decimals. Added to the limit. */
                                usd: number;
                                reason: string;
                                created_at: string;
                                ends_at: string;
                            }[];
                        }[];
                        /** @description The secret, returned only this once. */
                        key: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getKeysById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "key";
                        name: string;
                        /** @description First characters of the secret. */
                        prefix: string;
                        /** @description Last characters of the secret. */
                        last4: string;
                        scopes: ("chat" | "models:read" | "usage:read" | "agents:read" | "agents:write" | "webhooks" | "keys" | "members" | "teams" | "scim" | "billing" | "operator")[];
                        ip_allowlist: string[];
                        monthly_budget_usd: number | null;
                        requests_per_minute: number | null;
                        models: string[];
                        /** @description What deployments that answer requests of the key and of keys that it creates must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                        data_policy: {
                            /**
                             * @description deny: only deployments that do not keep data to train on.
                             * @enum {string}
                             */
                            data_collection?: "allow" | "deny";
                            /** @description true: only deployments with zero data retention. */
                            zdr?: boolean;
                            /** @description Only deployments in one of these regions. */
                            regions?: string[];
                        } | null;
                        created_at: string;
                        last_used_at: string | null;
                        expires_at: string | null;
                        revoked_at: string | null;
                        /** @description Since when it is refused. Null: it is enabled. */
                        disabled_at: string | null;
                        /** @description The secret before the last rotation, and until when it is or was valid. Null: none. */
                        previous_secret: {
                            /** @description Last characters of the secret. */
                            last4: string;
                            /** @description ISO 8601 UTC. */
                            valid_until: string;
                        } | null;
                        /** @description Tags of its requests, unless they say otherwise. */
                        tags: {
                            [key: string]: string;
                        };
                        /** @description Keys of tags that its requests must have. */
                        require_tags: string[];
                        /** @description The person who created the key, whose rights it cannot exceed. Null: no person did. */
                        created_by: {
                            user_id: string;
                            email: string;
                            name: string;
                        } | null;
                        /** @description The key that created this one, whose limits it cannot exceed, and whose budget and rate limit it shares. Null: none. */
                        parent_id: string | null;
                        /** @description The team that it belongs to. Null: to the account. */
                        team_id: string | null;
                        /** @description Spending of the key and the keys that it created in this calendar month, UTC. Null: the key has no budget. */
                        spent_usd: number | null;
                        /** @description Time at which the budget resets, ISO 8601. Null: the key has no budget. */
                        resets_at: string | null;
                        /** @description Its budgets besides `monthly_budget_usd`. */
                        budgets: {
                            id: string;
                            /** @enum {string} */
                            object: "budget";
                            /** @enum {string} */
                            level: "account" | "team" | "member" | "key" | "tag";
                            /** @description ID of the account, team, user or key; of a tag `key=value`. */
                            subject: string;
                            /** @description USD, at most 9 decimals. The limit without raises. */
                            usd: number;
                            /** @enum {string} */
                            window: "day" | "week" | "month" | "quarter" | "total";
                            /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                            starts: string | null;
                            timezone: string;
                            /** @enum {string} */
                            action: "block" | "warn";
                            /** @description USD, at most 9 decimals. The limit with the raises in force. */
                            limit_usd: number;
                            /** @description USD, at most 9 decimals. Charged in the current window. */
                            spent_usd: number;
                            /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                            held_usd: number;
                            /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                            remaining_usd: number;
                            /** @description Start of the current window, ISO 8601. */
                            window_start: string;
                            /** @description End of the current window, ISO 8601. Null: it never resets. */
                            resets_at: string | null;
                            /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                            forecast_exhausted_at: string | null;
                            /** @description Raises in force. */
                            raises: {
                                id: string;
                                /** @description USD, at most 9 decimals. Added to the limit. */
                                usd: number;
                                reason: string;
                                created_at: string;
                                ends_at: string;
                            }[];
                        }[];
                        /** @description Number of active keys that it created, directly or indirectly. They are revoked with it. */
                        created_keys: number;
                        /** @description Number of enabled webhooks that it and these keys created. They are disabled when it is revoked. */
                        created_webhooks: number;
                        /** @description Number of settled requests in the last 24 hours, rounded up to whole hours. */
                        requests_last_24h: number;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteKeysById: {
        parameters: {
            query?: {
                /** @description false: the keys that it created stay active, and its limits still apply to them. */
                cascade?: "true" | "false";
            };
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            204: {
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchKeysById: {
        parameters: {
            path: {
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    name?: string;
                    /** @description true: the key and the keys that it created are refused, within a second in every process, until it is false. */
                    disabled?: boolean;
                    /** @description Empty: full access. */
                    scopes?: ("chat" | "models:read" | "usage:read" | "agents:read" | "agents:write" | "webhooks" | "keys" | "members" | "teams" | "scim" | "billing" | "operator")[];
                    /** @description Addresses and CIDR blocks. An empty list allows every address. */
                    ip_allowlist?: string[];
                    monthly_budget_usd?: number | null;
                    requests_per_minute?: number | null;
                    /** @description Empty: all models. */
                    models?: string[];
                    /** @description What deployments that answer requests of the key and of keys that it creates must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                    data_policy?: {
                        /**
                         * @description deny: only deployments that do not keep data to train on.
                         * @enum {string}
                         */
                        data_collection?: "allow" | "deny";
                        /** @description true: only deployments with zero data retention. */
                        zdr?: boolean;
                        /** @description Only deployments in one of these regions. */
                        regions?: string[];
                    } | null;
                    /**
                     * @description ISO 8601, in the future. Null: the key does not expire.
                     * @example 2030-01-01T00:00:00Z
                     */
                    expires_at?: string | null;
                    /**
                     * @description Tags of its requests, unless they say otherwise. At most 10; see docs/chargeback.md.
                     * @example {
                     *       "team": "search"
                     *     }
                     */
                    tags?: {
                        [key: string]: string;
                    };
                    /**
                     * @description Keys of tags that its requests must have. Others get 400.
                     * @example [
                     *       "customer"
                     *     ]
                     */
                    require_tags?: string[];
                    /** @description Replaces all budgets. Those with the same window, time zone and start keep what is spent. */
                    budgets?: {
                        /** @description USD, at most 9 decimals. */
                        usd: number;
                        /**
                         * @description total: it never resets.
                         * @enum {string}
                         */
                        window: "day" | "week" | "month" | "quarter" | "total";
                        /**
                         * @description Start of the first window, from which the others are counted: a date in the time zone, or an ISO 8601 time. Null: windows of the calendar.
                         * @example 2030-01-01
                         */
                        starts?: string | null;
                        /** @description IANA name. Default: UTC. */
                        timezone?: string;
                        /**
                         * @description block (default): rejects requests beyond it with 402. warn: alerts only.
                         * @enum {string}
                         */
                        action?: "block" | "warn";
                    }[];
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "key";
                        name: string;
                        /** @description First characters of the secret. */
                        prefix: string;
                        /** @description Last characters of the secret. */
                        last4: string;
                        scopes: ("chat" | "models:read" | "usage:read" | "agents:read" | "agents:write" | "webhooks" | "keys" | "members" | "teams" | "scim" | "billing" | "operator")[];
                        ip_allowlist: string[];
                        monthly_budget_usd: number | null;
                        requests_per_minute: number | null;
                        models: string[];
                        /** @description What deployments that answer requests of the key and of keys that it creates must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                        data_policy: {
                            /**
                             * @description deny: only deployments that do not keep data to train on.
                             * @enum {string}
                             */
                            data_collection?: "allow" | "deny";
                            /** @description true: only deployments with zero data retention. */
                            zdr?: boolean;
                            /** @description Only deployments in one of these regions. */
                            regions?: string[];
                        } | null;
                        created_at: string;
                        last_used_at: string | null;
                        expires_at: string | null;
                        revoked_at: string | null;
                        /** @description Since when it is refused. Null: it is enabled. */
                        disabled_at: string | null;
                        /** @description The secret before the last rotation, and until when it is or was valid. Null: none. */
                        previous_secret: {
                            /** @description Last characters of the secret. */
                            last4: string;
                            /** @description ISO 8601 UTC. */
                            valid_until: string;
                        } | null;
                        /** @description Tags of its requests, unless they say otherwise. */
                        tags: {
                            [key: string]: string;
                        };
                        /** @description Keys of tags that its requests must have. */
                        require_tags: string[];
                        /** @description The person who created the key, whose rights it cannot exceed. Null: no person did. */
                        created_by: {
                            user_id: string;
                            email: string;
                            name: string;
                        } | null;
                        /** @description The key that created this one, whose limits it cannot exceed, and whose budget and rate limit it shares. Null: none. */
                        parent_id: string | null;
                        /** @description The team that it belongs to. Null: to the account. */
                        team_id: string | null;
                        /** @description Spending of the key and the keys that it created in this calendar month, UTC. Null: the key has no budget. */
                        spent_usd: number | null;
                        /** @description Time at which the budget resets, ISO 8601. Null: the key has no budget. */
                        resets_at: string | null;
                        /** @description Its budgets besides `monthly_budget_usd`. */
                        budgets: {
                            id: string;
                            /** @enum {string} */
                            object: "budget";
                            /** @enum {string} */
                            level: "account" | "team" | "member" | "key" | "tag";
                            /** @description ID of the account, team, user or key; of a tag `key=value`. */
                            subject: string;
                            /** @description USD, at most 9 decimals. The limit without raises. */
                            usd: number;
                            /** @enum {string} */
                            window: "day" | "week" | "month" | "quarter" | "total";
                            /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                            starts: string | null;
                            timezone: string;
                            /** @enum {string} */
                            action: "block" | "warn";
                            /** @description USD, at most 9 decimals. The limit with the raises in force. */
                            limit_usd: number;
                            /** @description USD, at most 9 decimals. Charged in the current window. */
                            spent_usd: number;
                            /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                            held_usd: number;
                            /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                            remaining_usd: number;
                            /** @description Start of the current window, ISO 8601. */
                            window_start: string;
                            /** @description End of the current window, ISO 8601. Null: it never resets. */
                            resets_at: string | null;
                            /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                            forecast_exhausted_at: string | null;
                            /** @description Raises in force. */
                            raises: {
                                id: string;
                                /** @description USD, at most 9 decimals. Added to the limit. */
                                usd: number;
                                reason: string;
                                created_at: string;
                                ends_at: string;
                            }[];
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postKeysByIdRotate: {
        parameters: {
            path: {
                id: string;
            };
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description For which the present secret stays valid. 0: it ends at once.
                     * @default 86400
                     */
                    overlap_seconds?: number;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "key";
                        name: string;
                        /** @description First characters of the secret. */
                        prefix: string;
                        /** @description Last characters of the secret. */
                        last4: string;
                        scopes: ("chat" | "models:read" | "usage:read" | "agents:read" | "agents:write" | "webhooks" | "keys" | "members" | "teams" | "scim" | "billing" | "operator")[];
                        ip_allowlist: string[];
                        monthly_budget_usd: number | null;
                        requests_per_minute: number | null;
                        models: string[];
                        /** @description What deployments that answer requests of the key and of keys that it creates must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                        data_policy: {
                            /**
                             * @description deny: only deployments that do not keep data to train on.
                             * @enum {string}
                             */
                            data_collection?: "allow" | "deny";
                            /** @description true: only deployments with zero data retention. */
                            zdr?: boolean;
                            /** @description Only deployments in one of these regions. */
                            regions?: string[];
                        } | null;
                        created_at: string;
                        last_used_at: string | null;
                        expires_at: string | null;
                        revoked_at: string | null;
                        /** @description Since when it is refused. Null: it is enabled. */
                        disabled_at: string | null;
                        /** @description The secret before the last rotation, and until when it is or was valid. Null: none. */
                        previous_secret: {
                            /** @description Last characters of the secret. */
                            last4: string;
                            /** @description ISO 8601 UTC. */
                            valid_until: string;
                        } | null;
                        /** @description Tags of its requests, unless they say otherwise. */
                        tags: {
                            [key: string]: string;
                        };
                        /** @description Keys of tags that its requests must have. */
                        require_tags: string[];
                        /** @description The person who created the key, whose rights it cannot exceed. Null: no person did. */
                        created_by: {
                            user_id: string;
                            email: string;
                            name: string;
                        } | null;
                        /** @description The key that created this one, whose limits it cannot exceed, and whose budget and rate limit it shares. Null: none. */
                        parent_id: string | null;
                        /** @description The team that it belongs to. Null: to the account. */
                        team_id: string | null;
                        /** @description Spending of the key and the keys that it created in this calendar month, UTC. Null: the key has no budget. */
                        spent_usd: number | null;
                        /** @description Time at which the budget resets, ISO 8601. Null: the key has no budget. */
                        resets_at: string | null;
                        /** @description Its budgets besides `monthly_budget_usd`. */
                        budgets: {
                            id: string;
                            /** @enum {string} */
                            object: "budget";
                            /** @enum {string} */
                            level: "account" | "team" | "member" | "key" | "tag";
                            /** @description ID of the account, team, user or key; of a tag `key=value`. */
                            subject: string;
                            /** @description USD, at most 9 decimals. The limit without raises. */
                            usd: number;
                            /** @enum {string} */
                            window: "day" | "week" | "month" | "quarter" | "total";
                            /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                            starts: string | null;
                            timezone: string;
                            /** @enum {string} */
                            action: "block" | "warn";
                            /** @description USD, at most 9 decimals. The limit with the raises in force. */
                            limit_usd: number;
                            /** @description USD, at most 9 decimals. Charged in the current window. */
                            spent_usd: number;
                            /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                            held_usd: number;
                            /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                            remaining_usd: number;
                            /** @description Start of the current window, ISO 8601. */
                            window_start: string;
                            /** @description End of the current window, ISO 8601. Null: it never resets. */
                            resets_at: string | null;
                            /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                            forecast_exhausted_at: string | null;
                            /** @description Raises in force. */
                            raises: {
                                id: string;
                                /** @description USD, at most 9 decimals. Added to the limit. */
                                usd: number;
                                reason: string;
                                created_at: string;
                                ends_at: string;
                            }[];
                        }[];
                        /** @description The secret, returned only this once. */
                        key: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getUsage: {
        parameters: {
            query?: {
                /**
                 * @description ISO 8601 UTC. Default: the first day of this month.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_start?: string;
                /**
                 * @description ISO 8601 UTC, exclusive. Default: the first day of the next month.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_end?: string;
                /**
                 * @description Adds `groups` by model, kind of model, API key, UTC day or agent; or by up to three of tag:<key>, team, member, key, model, provider, kind, session, end_user and day, comma-separated or repeated. Groups by agent omit completions outside agents. With `account=all` also by account.
                 * @example tag:customer,model
                 */
                group_by?: string | string[];
                /** @description Only requests of this team. */
                team_id?: string;
                /** @description Only requests of this person, their keys and devices. */
                member_id?: string;
                /** @description Only completions of this provider. */
                provider?: string;
                /** @description Only models of this kind. */
                kind?: "chat" | "embedding" | "rerank";
                /** @description Only requests with this tag, as `key=value`. */
                tag?: string;
                /** @description Only requests of this session. */
                session_id?: string;
                /** @description Only requests of this end user: the hash, or the name. */
                end_user?: string;
                /** @description Adds `series`: the same sums by UTC hour, for periods of at most 32 days, or by UTC day, for at most 400. It requires no `group_by`, or one by model, kind or API key. A CSV file has no series. */
                interval?: "hour" | "day";
                /** @description Only this model. */
                model?: string;
                /** @description Only requests of this API key. */
                key_id?: string;
                /** @description ID of any account of the installation, whose usage is reported, or `all`: the sums of all accounts, by model, kind, day or account. Only for operators. */
                account?: string;
                /** @description `csv` returns a file of the groups; without `group_by`, of the groups by model. `focus` returns a FOCUS file of the period, with all filters, without `group_by` and `interval`. */
                format?: "json" | "csv" | "focus";
            };
        };
        responses: {
            /** @description The report. */
            200: {
                content: {
                    "application/json": {
                        /** @description ISO 8601 UTC. */
                        period_start: string;
                        /** @description ISO 8601 UTC, exclusive. */
                        period_end: string;
                        /** @description Prompt and completion tokens. */
                        total_tokens: number;
                        /** @description Prompt tokens. */
                        total_prompt_tokens: number;
                        /** @description Completion tokens. */
                        total_completion_tokens: number;
                        /** @description Number of completions, including failed and free ones. */
                        total_requests: number;
                        /** @description USD, at most 9 decimals. Exact sum of the costs of the completions. */
                        total_cost_usd: number;
                        /** @description USD, at most 9 decimals. Of the costs, what is left when the providers are paid. Only for operators. */
                        total_margin_usd?: number;
                        /** @description Current balance; of all accounts, their sum. Without a credit limit: `unlimited_credit_usd` of the plan, else its `monthly_credit_usd`, else 1000000, whatever was spent. */
                        credit_remaining_usd: number;
                        /** @description Whether spending has no credit limit, because the plan is postpaid. */
                        unlimited: boolean;
                        /** @description Part of the balance that requests in flight have reserved. */
                        held_usd: number;
                        /** @description Most expensive first. */
                        breakdown_by_model: {
                            model: string;
                            /** @description Prompt and completion tokens. */
                            tokens: number;
                            /** @description USD, at most 9 decimals. Exact sum of the costs of the completions. */
                            cost_usd: number;
                        }[];
                        /** @description Only with `group_by`. Days are in order, other groups most expensive first. */
                        groups?: {
                            /** @description The model’s ID or kind, the API key’s id, the day as 2026-01-31, or the agent’s or account’s id. */
                            key: string;
                            /** @description For groups by key, agent and account: the name of the key, agent, device or account, or the person’s e-mail address. Null: deleted. */
                            name?: string | null;
                            /** @description The value of each dimension, for several of them and for those but model, kind, key, day, agent. */
                            keys?: {
                                [key: string]: string | null;
                            };
                            /** @description Prompt and completion tokens. */
                            tokens: number;
                            /** @description Number of completions, including failed and free ones. */
                            requests: number;
                            /** @description USD, at most 9 decimals. Exact sum of the costs of the completions. */
                            cost_usd: number;
                            /** @description USD, at most 9 decimals. Of the costs, what is left when the providers are paid. Only for operators. */
                            margin_usd?: number;
                        }[];
                        /** @description The groups after the 1000 most expensive. Absent: there are none. */
                        other?: {
                            /** @description Number of groups. */
                            groups: number;
                            /** @description Prompt and completion tokens. */
                            tokens: number;
                            /** @description Number of completions, including failed and free ones. */
                            requests: number;
                            /** @description USD, at most 9 decimals. Exact sum of the costs of the completions. */
                            cost_usd: number;
                            /** @description USD, at most 9 decimals. Of the costs, what is left when the providers are paid. Only for operators. */
                            margin_usd?: number;
                        };
                        /** @description True: a month has more values of the tag, sessions or end users than are told apart (100,000, unless the operator sets another number). Later ones are in `other`, as one group. */
                        values_limited?: boolean;
                        /** @description Only with `interval`: sums that add up exactly to the groups and to the total. Hours and days without completions are omitted. */
                        series?: {
                            /** @description Start of the hour or day, ISO 8601 UTC. */
                            at: string;
                            /** @description `key` of the group; `all` without `group_by`. Empty: all groups except the 50 most expensive. */
                            key: string;
                            /** @description Prompt and completion tokens. */
                            tokens: number;
                            /** @description Number of completions, including failed and free ones. */
                            requests: number;
                            /** @description USD, at most 9 decimals. Exact sum of the costs of the completions. */
                            cost_usd: number;
                            /** @description USD, at most 9 decimals. Of the costs, what is left when the providers are paid. Only for operators. */
                            margin_usd?: number;
                            prompt_tokens: number;
                            completion_tokens: number;
                        }[];
                    };
                    "text/csv": string;
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getUsagePerformance: {
        parameters: {
            query?: {
                /**
                 * @description ISO 8601 UTC. Default: a day before `period_end`.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_start?: string;
                /**
                 * @description ISO 8601 UTC, exclusive, at most 31 days after `period_start`. Default: now.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_end?: string;
                /** @description Dimension of `groups`. */
                group_by?: "model" | "provider";
                /** @description `hours` adds the hours of each group. */
                include?: "hours";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @description ISO 8601 UTC. */
                        period_start: string;
                        /** @description ISO 8601 UTC, exclusive. */
                        period_end: string;
                        /** @description Always false: all completions are counted. Earlier releases evaluated the newest 5000. */
                        sampled: boolean;
                        /** @description Groups with the most requests first. */
                        groups: {
                            /** @description ID of the model, or name of the provider in the configuration. */
                            key: string;
                            /** @description Number of completions, whatever their outcome. */
                            requests: number;
                            /** @description Number of completions that failed or that the provider broke off. */
                            failed: number;
                            /** @description Completed ÷ (completed + failed), 0 to 1, without clients that disconnected. Null: all of them disconnected. */
                            success_rate: number | null;
                            /** @description From the arrival of the request to the first byte, for streams only. Null: no streams. */
                            first_byte_ms: {
                                /** @description Milliseconds. */
                                p50: number;
                                /** @description Milliseconds. */
                                p95: number;
                            } | null;
                            /** @description From the arrival of the request to its end, for completed ones only. Null: none completed. */
                            duration_ms: {
                                /** @description Milliseconds. */
                                p50: number;
                                /** @description Milliseconds. */
                                p95: number;
                            } | null;
                            /** @description Only with `include=hours`: UTC hours in order. Hours without completions are omitted. */
                            hours?: {
                                /** @description Start of the hour, ISO 8601 UTC. */
                                at: string;
                                /** @description Number of completions of the group in this hour, whatever their outcome. */
                                requests: number;
                                /** @description Number of completions that failed or that the provider broke off. */
                                failed: number;
                            }[];
                        }[];
                        /** @description UTC hours in order. Hours without completions are omitted. */
                        series: {
                            /** @description Start of the hour, ISO 8601 UTC. */
                            at: string;
                            /** @description From the arrival of the request to the first byte, for streams only. Null: no streams. */
                            first_byte_ms_p50: number | null;
                            /** @description From the arrival of the request to the first byte, for streams only. Null: no streams. */
                            first_byte_ms_p95: number | null;
                            /** @description Number of completions, whatever their outcome. */
                            requests: number;
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getUsageCompletions: {
        parameters: {
            query?: {
                /**
                 * @description ISO 8601 UTC: only completions created at or after this time.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_start?: string;
                /**
                 * @description ISO 8601 UTC: only completions created before this time.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_end?: string;
                /** @description Only this model. */
                model?: string;
                /** @description Only requests of this API key, device or signed-in person. */
                key_id?: string;
                /** @description Only completions with this status. */
                status?: "completed" | "failed" | "client_left" | "incomplete";
                /** @description Only requests of this agent. */
                agent_id?: string;
                /** @description Only completions of this provider, by its name in the configuration. Requires a period of at most 7 days. */
                provider?: string;
                /** @description Only requests with this `client_request_id`. Requires a period of at most 7 days. */
                client_request_id?: string;
                /**
                 * @description Only the request with this ID.
                 * @example req_00000000exampleexample
                 */
                request_id?: string;
                /** @description Only completions with an attempt of this outcome, as in `attempt_log`. */
                outcome?: "abandoned" | "rejected" | "credentials" | "quota" | "rate_limited" | "not_found" | "overloaded" | "failed" | "cut";
                /**
                 * @description Only completions whose `duration_ms` is at least this.
                 * @example 2000
                 */
                min_duration_ms?: string;
                /**
                 * @description Only completions whose `duration_ms` is at most this.
                 * @example 2000
                 */
                max_duration_ms?: string;
                /**
                 * @description Only completions whose `cost_usd` is at least this.
                 * @example 0.25
                 */
                min_cost_usd?: string;
                /**
                 * @description Only completions whose `cost_usd` is at most this.
                 * @example 0.25
                 */
                max_cost_usd?: string;
                /** @description Only requests with this tag, as `key=value`. Requires a period of at most 7 days. */
                tag?: string;
                /** @description Only requests of this session. Requires a period of at most 7 days. */
                session_id?: string;
                /** @description Only requests of this end user: the hash, or the name that the client sends. Requires a period of at most 7 days. */
                end_user?: string;
                /** @description `overview` adds a histogram of the listed completions over the period, by default over the last 24 hours. A CSV file has none. */
                include?: "overview";
                /** @description `csv` returns a file. By default the `Accept` header decides; `application/json` is preferred. */
                format?: "json" | "csv";
                /** @description Items in the page: 1 to 100, by default 20. Rows of a CSV file: 1 to 10000, by default the maximum. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description A page, or a file. */
            200: {
                headers: {
                    /** @description `next_cursor` of a file that has a next page. */
                    "x-next-cursor"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            /** @description `id` of the response. */
                            id: string;
                            /** @enum {string} */
                            object: "completion";
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                            /** @description ID of the API key, device or person that made the request. */
                            key_id: string;
                            /** @description Name of the key or device, or the person’s e-mail address. Null: deleted. */
                            key_name: string | null;
                            /** @description ID of the model, even if the request named an alias. */
                            model: string;
                            /** @description Name of the provider that answered, in the configuration. */
                            provider: string;
                            /**
                             * @description completed: the client received the whole answer. failed: nothing was generated. incomplete: the provider broke off. client_left: the client disconnected.
                             * @enum {string}
                             */
                            status: "completed" | "failed" | "client_left" | "incomplete";
                            stream: boolean;
                            /** @description Finish reason of the first choice. Null: none. */
                            finish_reason: string | null;
                            /** @description Including cached tokens. */
                            prompt_tokens: number;
                            /** @description Including reasoning tokens. */
                            completion_tokens: number;
                            /** @description Prompt tokens read from the provider’s cache. */
                            cached_tokens: number;
                            /** @description Prompt tokens written to the provider’s cache. */
                            cache_write_tokens: number;
                            /** @description Reasoning tokens among the completion tokens, if the provider reports them. */
                            reasoning_tokens: number;
                            /** @description USD, at most 9 decimals. Charge of the completion. */
                            cost_usd: number;
                            /**
                             * @description Source of the token counts: the provider, or Turnpike if the provider’s count did not arrive. bounded: the provider reported more than the request can have used, or less than was delivered; the nearest possible figures are charged.
                             * @enum {string}
                             */
                            usage_source: "provider" | "estimated" | "bounded";
                            /**
                             * @description The provider was called with the account’s own credential. Absent: it was not.
                             * @enum {boolean}
                             */
                            byok?: true;
                            /** @description USD, at most 9 decimals. Cost at the model’s price, of which `cost_usd` is the fee. Only with `byok`, and unless the process died. */
                            list_cost_usd?: number;
                            /** @description USD, at most 9 decimals. What the operator owes to providers for it. Only for operators. */
                            provider_cost_usd?: number;
                            /** @description USD, at most 9 decimals. Cost beyond `cost_usd` that was not charged, because the account reached its overrun cap. */
                            unbilled_usd: number;
                            /** @description Version of the price that was charged. A version never changes. */
                            price_version: string;
                            /** @description From the arrival of the request to the end of the answer. */
                            duration_ms: number;
                            /** @description From the arrival of the request to the first byte. Null: none. */
                            first_byte_ms: number | null;
                            /** @description Number of calls to providers. */
                            attempts: number;
                            /** @description The calls, in order; of more than 128 the newest. A single successful call is derived from the completion: with the model’s ID, and the time to the first byte of the whole request. Empty: unknown. */
                            attempt_log: {
                                /** @description Name of the called provider in the configuration. */
                                provider: string;
                                /** @description Name of the model at the provider. */
                                model: string;
                                /**
                                 * @description answered: the answer began and was not broken off. cut: the provider broke it off. abandoned: the client disconnected, or Turnpike ended the request, before an answer. rejected: the provider rejected the request itself. Other values are the reason of the failure: rejected credentials or exhausted quota, a rate limit, an unknown model, overload, or an error.
                                 * @enum {string}
                                 */
                                outcome: "answered" | "abandoned" | "rejected" | "credentials" | "quota" | "rate_limited" | "not_found" | "overloaded" | "failed" | "cut";
                                /** @description HTTP status of the provider. Null: no response. */
                                status: number | null;
                                /** @description From the arrival of the request to the call. */
                                started_ms: number;
                                /** @description From the call to the first event of its answer, or to its failure. */
                                duration_ms: number;
                                /**
                                 * @description Why another model might answer next. Only of failures of requests that several models may answer.
                                 * @enum {string}
                                 */
                                reason?: "overloaded" | "server_error" | "timeout" | "connection" | "context_length" | "content_filter" | "unavailable";
                                /** @description The account’s own credential of the call. Absent: the operator’s. */
                                provider_credential_id?: string;
                                /** @description Why the call failed, in the provider’s words without secrets and quotations. For operators; of rejected requests, and of calls with the account’s own credential, also for those who manage keys. */
                                message?: string;
                            }[];
                            /** @description Name that the client gave to its request. Null: none. */
                            client_request_id: string | null;
                            /** @description The agent that made the request. Null: none. */
                            agent_id: string | null;
                            /** @description The run of the agent. */
                            run_id: string | null;
                            /**
                             * @description The API that the request came by.
                             * @enum {string}
                             */
                            api: "chat_completions" | "messages" | "responses" | "completions" | "embeddings" | "rerank";
                            /** @description `req_…` of the HTTP request, as in `x-request-id`. Null: unknown. */
                            request_id: string | null;
                            /** @description Tags of the request. */
                            tags: {
                                [key: string]: string;
                            };
                            /** @description The client’s session. Null: none. */
                            session_id: string | null;
                            /** @description Hash of the client’s name for its user. Null: none. */
                            end_user: string | null;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                        overview?: {
                            /** @description ISO 8601 UTC. */
                            period_start: string;
                            /** @description ISO 8601 UTC, exclusive. */
                            period_end: string;
                            /**
                             * @description The unit of a bucket.
                             * @enum {string}
                             */
                            interval: "minute" | "hour" | "day";
                            /** @description Length of a bucket in this unit. */
                            width: number;
                            /** @description The buckets of the period in order, including empty ones; at most 91. Only completions in the period are counted. */
                            buckets: {
                                /** @description Start of the bucket, ISO 8601 UTC. The first bucket may start before the period. */
                                at: string;
                                completed: number;
                                failed: number;
                                client_left: number;
                                incomplete: number;
                            }[];
                        };
                    };
                    "text/csv": string;
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getUsageCompletionsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @description `id` of the response. */
                        id: string;
                        /** @enum {string} */
                        object: "completion";
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description ID of the API key, device or person that made the request. */
                        key_id: string;
                        /** @description Name of the key or device, or the person’s e-mail address. Null: deleted. */
                        key_name: string | null;
                        /** @description ID of the model, even if the request named an alias. */
                        model: string;
                        /** @description Name of the provider that answered, in the configuration. */
                        provider: string;
                        /**
                         * @description completed: the client received the whole answer. failed: nothing was generated. incomplete: the provider broke off. client_left: the client disconnected.
                         * @enum {string}
                         */
                        status: "completed" | "failed" | "client_left" | "incomplete";
                        stream: boolean;
                        /** @description Finish reason of the first choice. Null: none. */
                        finish_reason: string | null;
                        /** @description Including cached tokens. */
                        prompt_tokens: number;
                        /** @description Including reasoning tokens. */
                        completion_tokens: number;
                        /** @description Prompt tokens read from the provider’s cache. */
                        cached_tokens: number;
                        /** @description Prompt tokens written to the provider’s cache. */
                        cache_write_tokens: number;
                        /** @description Reasoning tokens among the completion tokens, if the provider reports them. */
                        reasoning_tokens: number;
                        /** @description USD, at most 9 decimals. Charge of the completion. */
                        cost_usd: number;
                        /**
                         * @description Source of the token counts: the provider, or Turnpike if the provider’s count did not arrive. bounded: the provider reported more than the request can have used, or less than was delivered; the nearest possible figures are charged.
                         * @enum {string}
                         */
                        usage_source: "provider" | "estimated" | "bounded";
                        /**
                         * @description The provider was called with the account’s own credential. Absent: it was not.
                         * @enum {boolean}
                         */
                        byok?: true;
                        /** @description USD, at most 9 decimals. Cost at the model’s price, of which `cost_usd` is the fee. Only with `byok`, and unless the process died. */
                        list_cost_usd?: number;
                        /** @description USD, at most 9 decimals. What the operator owes to providers for it. Only for operators. */
                        provider_cost_usd?: number;
                        /** @description USD, at most 9 decimals. Cost beyond `cost_usd` that was not charged, because the account reached its overrun cap. */
                        unbilled_usd: number;
                        /** @description Version of the price that was charged. A version never changes. */
                        price_version: string;
                        /** @description From the arrival of the request to the end of the answer. */
                        duration_ms: number;
                        /** @description From the arrival of the request to the first byte. Null: none. */
                        first_byte_ms: number | null;
                        /** @description Number of calls to providers. */
                        attempts: number;
                        /** @description The calls, in order; of more than 128 the newest. A single successful call is derived from the completion: with the model’s ID, and the time to the first byte of the whole request. Empty: unknown. */
                        attempt_log: {
                            /** @description Name of the called provider in the configuration. */
                            provider: string;
                            /** @description Name of the model at the provider. */
                            model: string;
                            /**
                             * @description answered: the answer began and was not broken off. cut: the provider broke it off. abandoned: the client disconnected, or Turnpike ended the request, before an answer. rejected: the provider rejected the request itself. Other values are the reason of the failure: rejected credentials or exhausted quota, a rate limit, an unknown model, overload, or an error.
                             * @enum {string}
                             */
                            outcome: "answered" | "abandoned" | "rejected" | "credentials" | "quota" | "rate_limited" | "not_found" | "overloaded" | "failed" | "cut";
                            /** @description HTTP status of the provider. Null: no response. */
                            status: number | null;
                            /** @description From the arrival of the request to the call. */
                            started_ms: number;
                            /** @description From the call to the first event of its answer, or to its failure. */
                            duration_ms: number;
                            /**
                             * @description Why another model might answer next. Only of failures of requests that several models may answer.
                             * @enum {string}
                             */
                            reason?: "overloaded" | "server_error" | "timeout" | "connection" | "context_length" | "content_filter" | "unavailable";
                            /** @description The account’s own credential of the call. Absent: the operator’s. */
                            provider_credential_id?: string;
                            /** @description Why the call failed, in the provider’s words without secrets and quotations. For operators; of rejected requests, and of calls with the account’s own credential, also for those who manage keys. */
                            message?: string;
                        }[];
                        /** @description Name that the client gave to its request. Null: none. */
                        client_request_id: string | null;
                        /** @description The agent that made the request. Null: none. */
                        agent_id: string | null;
                        /** @description The run of the agent. */
                        run_id: string | null;
                        /**
                         * @description The API that the request came by.
                         * @enum {string}
                         */
                        api: "chat_completions" | "messages" | "responses" | "completions" | "embeddings" | "rerank";
                        /** @description `req_…` of the HTTP request, as in `x-request-id`. Null: unknown. */
                        request_id: string | null;
                        /** @description Tags of the request. */
                        tags: {
                            [key: string]: string;
                        };
                        /** @description The client’s session. Null: none. */
                        session_id: string | null;
                        /** @description Hash of the client’s name for its user. Null: none. */
                        end_user: string | null;
                        /** @description Calculation of the cost. Null: the price is unknown, the charge was corrected later, or the charge is not based on the tokens, as after a failure. */
                        pricing: {
                            /** @description Version of the price that was charged. */
                            price_version: string;
                            /** @description USD per million tokens. */
                            input_per_million: number;
                            /** @description USD per million tokens. Null: as input. */
                            cached_input_per_million: number | null;
                            /** @description USD per million tokens. Null: as input. */
                            cache_write_per_million: number | null;
                            /** @description USD per million tokens. */
                            output_per_million: number;
                            /** @description Rule of the price that applied: `base` is the price itself, `above_200000` a tier, `flex` a service tier, `discount` a time of day, `cache_write_1h` a lifetime of cache writes, `byok` the account’s own credential. Several rules are joined by `+`. */
                            rule: string;
                            /** @description Lines whose sum, rounded up to the next nano-dollar, is `cost_usd` of the completion; with `byok` its `list_cost_usd`. */
                            lines: {
                                /**
                                 * @description input and output: prompt and completion tokens without a separate line. request, image and server_tool are fees, with 0 `tokens`.
                                 * @enum {string}
                                 */
                                kind: "input" | "cached_input" | "cache_write" | "cache_write_1h" | "cache_write_12h" | "audio_input" | "cached_audio_input" | "output" | "reasoning_output" | "audio_output" | "image_output" | "request" | "image" | "server_tool";
                                /** @description Name of a server tool. */
                                name?: string;
                                tokens: number;
                                /** @description Threshold of a tier that prices only the excess above it. */
                                above_prompt_tokens?: number;
                                /** @description Rate of tokens; 0 for fees. */
                                usd_per_million: number;
                                /** @description Number of units of a fee. */
                                uses?: number;
                                /** @description Price of a unit of a fee. */
                                usd_per_use?: number;
                                /** @description USD, exact: at most 12 decimals. */
                                cost_usd: number;
                            }[];
                            /** @description Percent of `list_cost_usd` that is charged, rounded up. Only with `byok`. */
                            byok_fee_percent?: number;
                        } | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getUsageRejections: {
        parameters: {
            query?: {
                /**
                 * @description Only this HTTP status.
                 * @example 429
                 */
                status?: string;
                /** @description Only this `code`. */
                code?: string;
                /** @description Only requests of this API key, device or signed-in person. */
                key_id?: string;
                /** @description Only the request with this ID. */
                request_id?: string;
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            /** @enum {string} */
                            object: "rejection";
                            /** @description `x-request-id` of the answer. */
                            request_id: string;
                            /** Format: date-time */
                            created_at: string;
                            /** @description The path, such as `/v1/chat/completions`. */
                            endpoint: string;
                            /** @description That the request asked for, also if there is none. `null`: the text may be a secret in the wrong field, or the body was not read. */
                            model: string | null;
                            /** @description HTTP status of the answer. */
                            status: number;
                            /** @description `error.code` of the answer; docs/errors.md has them all. */
                            code: string;
                            /** @description The API key, device or person that sent it. `null`: the request had no valid credential. */
                            key_id: string | null;
                            /** @description What it is called now. `null`: it is gone, or there was none. */
                            key_name: string | null;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getUsageCompletionsStream: {
        parameters: {
            query?: {
                /** @description Only this model. */
                model?: string;
                /** @description Only requests of this API key, device or signed-in person. */
                key_id?: string;
                /** @description Only completions with this status. */
                status?: "completed" | "failed" | "client_left" | "incomplete";
                /** @description Only requests of this agent. */
                agent_id?: string;
                /** @description Only completions of this provider, by its name in the configuration. */
                provider?: string;
                /** @description Only requests with this `client_request_id`. */
                client_request_id?: string;
                /**
                 * @description Only the request with this ID.
                 * @example req_00000000exampleexample
                 */
                request_id?: string;
                /** @description Only completions with an attempt of this outcome, as in `attempt_log`. */
                outcome?: "abandoned" | "rejected" | "credentials" | "quota" | "rate_limited" | "not_found" | "overloaded" | "failed" | "cut";
                /**
                 * @description Only completions whose `duration_ms` is at least this.
                 * @example 2000
                 */
                min_duration_ms?: string;
                /**
                 * @description Only completions whose `duration_ms` is at most this.
                 * @example 2000
                 */
                max_duration_ms?: string;
                /**
                 * @description Only completions whose `cost_usd` is at least this.
                 * @example 0.25
                 */
                min_cost_usd?: string;
                /**
                 * @description Only completions whose `cost_usd` is at most this.
                 * @example 0.25
                 */
                max_cost_usd?: string;
                /** @description Only requests with this tag, as `key=value`. */
                tag?: string;
                /** @description Only requests of this session. */
                session_id?: string;
                /** @description Only requests of this end user: the hash, or the name that the client sends. */
                end_user?: string;
                /** @description Same as the header `Last-Event-ID`, which takes precedence. */
                after?: string;
            };
            header?: {
                /** @description ID of the last completion received. */
                "last-event-id"?: string;
            };
        };
        responses: {
            /** @description Completions. */
            200: {
                content: {
                    "text/event-stream": {
                        /** @description Resumes after it, as `Last-Event-ID`. */
                        id?: string;
                        event: string;
                        /** @description JSON. */
                        data: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getLedger: {
        parameters: {
            query?: {
                /** @description Only entries of this kind. */
                kind?: "grant" | "purchase" | "charge" | "refund" | "debit" | "expiry";
                /**
                 * @description ISO 8601 UTC: only entries created at or after this time.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_start?: string;
                /**
                 * @description ISO 8601 UTC: only entries created before this time.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_end?: string;
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "ledger_entry";
                            /**
                             * @description grant: credit without payment, such as the monthly allowance. purchase: paid credit. charge: a completion. refund: returned credit. debit: credit that the operator deducted, such as for a chargeback. expiry: the unspent part of an allowance.
                             * @enum {string}
                             */
                            kind: "grant" | "purchase" | "charge" | "refund" | "debit" | "expiry";
                            /** @description USD, at most 9 decimals; negative for deductions. */
                            amount_usd: number;
                            /** @description Balance after the entry, in USD. */
                            balance_usd: number;
                            /** @description For a charge: the completion. */
                            completion_id: string | null;
                            /** @description For a charge: the API key of the request. */
                            key_id: string | null;
                            /** @description For a charge: the version of its price. */
                            price_version: string | null;
                            /** @description The entry that this one corrects. */
                            adjusts: string | null;
                            /** @description Reason of the entry. */
                            note: string | null;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getLedgerStatement: {
        parameters: {
            query?: {
                /**
                 * @description ISO 8601 UTC, the start of a day. Default: the first day of this month.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_start?: string;
                /**
                 * @description ISO 8601 UTC, the start of a day, exclusive. Default: the first day of the next month.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_end?: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        object: "statement";
                        /** @description ISO 8601 UTC. */
                        period_start: string;
                        /** @description ISO 8601 UTC, exclusive. */
                        period_end: string;
                        /** @description USD, at most 9 decimals. Balance before the period. */
                        opening_usd: number;
                        /** @description USD, at most 9 decimals. Grants, including monthly allowances. */
                        grants_usd: number;
                        /** @description USD, at most 9 decimals. Purchases. */
                        purchases_usd: number;
                        /** @description USD, at most 9 decimals. Refunds. */
                        refunds_usd: number;
                        /** @description USD, at most 9 decimals. Debits of the operator; zero or negative. */
                        debits_usd: number;
                        /** @description USD, at most 9 decimals. Charges of completions, and upward corrections; zero or negative. */
                        charges_usd: number;
                        /** @description USD, at most 9 decimals. Expired allowances; zero or negative. */
                        expiries_usd: number;
                        /** @description USD, at most 9 decimals. Balance after the period, or now: exactly the sum of the opening balance and all of the above. */
                        closing_usd: number;
                        /** @description Usage of the completions that started in the period, most expensive model first. A completion is charged when it ends, which may be after the period. Corrections are not part of a model’s cost. */
                        by_model: {
                            model: string;
                            requests: number;
                            /** @description Prompt and completion tokens. */
                            tokens: number;
                            /** @description USD, at most 9 decimals. Cost as in `GET /v1/usage`. */
                            cost_usd: number;
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getUsageReconcile: {
        parameters: {
            query?: {
                /** @description Also audits the account. */
                deep?: "true" | "false";
                /**
                 * @description `cursor` of a partial audit, to continue it. Only with `deep`.
                 * @example 00000000-0000-4000-8000-000000000000
                 */
                cursor?: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @description Whether completions, rollups and ledger agree, and match balance and holds. */
                        ok: boolean;
                        /** @description USD. Cost of the completions. */
                        rows_usd: number;
                        /** @description USD. Cost of the completions according to the rollups that reports use. */
                        rollups_usd: number;
                        /** @description USD. Charges of the completions, before corrections. */
                        ledger_usd: number;
                        /** @description USD. Balance of the account. */
                        balance_usd: number;
                        /** @description USD. Sum of the ledger entries. */
                        expected_balance_usd: number;
                        /** @description USD. Credit that requests in flight have reserved. */
                        held_usd: number;
                        /** @description USD. Sum of the open holds. */
                        open_holds_usd: number;
                        audit?: {
                            /** @enum {string} */
                            status: "partial" | "complete";
                            /** @description Send it as `cursor` to continue a partial audit. */
                            cursor: string | null;
                            /** @description ISO 8601 UTC. Time of the audited snapshot. */
                            started_at: string;
                            /** @description ISO 8601 UTC. */
                            ended_at: string | null;
                            /** @description Number of audited accounts. */
                            accounts: number;
                            /** @description Number of ledger entries and completions read. */
                            rows: number;
                            findings_count: number;
                            findings: {
                                account_id: string;
                                /** @description ledger_gap, ledger_sides, ledger_time, ledger_balance, ledger_altered, balance, held, spent, key_spent, key_held, budget_spent, budget_held, allowance, allowance_grant, cost, price_version, charge, charge_missing, charge_repeated, completion_missing, correction, retired, rollup_hour, rollup_day, rollup_dimension, invoice */
                                kind: string;
                                /** @description ID of the ledger entry, completion, key, hour, day or invoice. */
                                subject: string;
                                /** @description Value that the audit computed; amounts in nano-dollars. */
                                expected: string;
                                /** @description Stored value. */
                                actual: string;
                            }[];
                        };
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getBudgets: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
                level?: "account" | "team" | "member" | "key" | "tag";
                /** @description ID of the account, team, user or key; of a tag `key=value`. */
                subject?: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "budget";
                            /** @enum {string} */
                            level: "account" | "team" | "member" | "key" | "tag";
                            /** @description ID of the account, team, user or key; of a tag `key=value`. */
                            subject: string;
                            /** @description USD, at most 9 decimals. The limit without raises. */
                            usd: number;
                            /** @enum {string} */
                            window: "day" | "week" | "month" | "quarter" | "total";
                            /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                            starts: string | null;
                            timezone: string;
                            /** @enum {string} */
                            action: "block" | "warn";
                            /** @description USD, at most 9 decimals. The limit with the raises in force. */
                            limit_usd: number;
                            /** @description USD, at most 9 decimals. Charged in the current window. */
                            spent_usd: number;
                            /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                            held_usd: number;
                            /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                            remaining_usd: number;
                            /** @description Start of the current window, ISO 8601. */
                            window_start: string;
                            /** @description End of the current window, ISO 8601. Null: it never resets. */
                            resets_at: string | null;
                            /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                            forecast_exhausted_at: string | null;
                            /** @description Raises in force. */
                            raises: {
                                id: string;
                                /** @description USD, at most 9 decimals. Added to the limit. */
                                usd: number;
                                reason: string;
                                created_at: string;
                                ends_at: string;
                            }[];
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    putBudgets: {
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    level: "account" | "team" | "member" | "key" | "tag";
                    /** @description ID of the account, team, user or key; of a tag `key=value`. */
                    subject?: string;
                    /** @description Replaces all budgets. Those with the same window, time zone and start keep what is spent. */
                    budgets: {
                        /** @description USD, at most 9 decimals. */
                        usd: number;
                        /**
                         * @description total: it never resets.
                         * @enum {string}
                         */
                        window: "day" | "week" | "month" | "quarter" | "total";
                        /**
                         * @description Start of the first window, from which the others are counted: a date in the time zone, or an ISO 8601 time. Null: windows of the calendar.
                         * @example 2030-01-01
                         */
                        starts?: string | null;
                        /** @description IANA name. Default: UTC. */
                        timezone?: string;
                        /**
                         * @description block (default): rejects requests beyond it with 402. warn: alerts only.
                         * @enum {string}
                         */
                        action?: "block" | "warn";
                    }[];
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        object: "list";
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "budget";
                            /** @enum {string} */
                            level: "account" | "team" | "member" | "key" | "tag";
                            /** @description ID of the account, team, user or key; of a tag `key=value`. */
                            subject: string;
                            /** @description USD, at most 9 decimals. The limit without raises. */
                            usd: number;
                            /** @enum {string} */
                            window: "day" | "week" | "month" | "quarter" | "total";
                            /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                            starts: string | null;
                            timezone: string;
                            /** @enum {string} */
                            action: "block" | "warn";
                            /** @description USD, at most 9 decimals. The limit with the raises in force. */
                            limit_usd: number;
                            /** @description USD, at most 9 decimals. Charged in the current window. */
                            spent_usd: number;
                            /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                            held_usd: number;
                            /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                            remaining_usd: number;
                            /** @description Start of the current window, ISO 8601. */
                            window_start: string;
                            /** @description End of the current window, ISO 8601. Null: it never resets. */
                            resets_at: string | null;
                            /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                            forecast_exhausted_at: string | null;
                            /** @description Raises in force. */
                            raises: {
                                id: string;
                                /** @description USD, at most 9 decimals. Added to the limit. */
                                usd: number;
                                reason: string;
                                created_at: string;
                                ends_at: string;
                            }[];
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getBudgetsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "budget";
                        /** @enum {string} */
                        level: "account" | "team" | "member" | "key" | "tag";
                        /** @description ID of the account, team, user or key; of a tag `key=value`. */
                        subject: string;
                        /** @description USD, at most 9 decimals. The limit without raises. */
                        usd: number;
                        /** @enum {string} */
                        window: "day" | "week" | "month" | "quarter" | "total";
                        /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                        starts: string | null;
                        timezone: string;
                        /** @enum {string} */
                        action: "block" | "warn";
                        /** @description USD, at most 9 decimals. The limit with the raises in force. */
                        limit_usd: number;
                        /** @description USD, at most 9 decimals. Charged in the current window. */
                        spent_usd: number;
                        /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                        held_usd: number;
                        /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                        remaining_usd: number;
                        /** @description Start of the current window, ISO 8601. */
                        window_start: string;
                        /** @description End of the current window, ISO 8601. Null: it never resets. */
                        resets_at: string | null;
                        /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                        forecast_exhausted_at: string | null;
                        /** @description Raises in force. */
                        raises: {
                            id: string;
                            /** @description USD, at most 9 decimals. Added to the limit. */
                            usd: number;
                            reason: string;
                            created_at: string;
                            ends_at: string;
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postBudgetsByIdRaises: {
        parameters: {
            path: {
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Added to the limit. */
                    usd: number;
                    /**
                     * @description ISO 8601, in the future.
                     * @example 2030-01-01T00:00:00Z
                     */
                    ends_at: string;
                    reason: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            201: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "budget";
                        /** @enum {string} */
                        level: "account" | "team" | "member" | "key" | "tag";
                        /** @description ID of the account, team, user or key; of a tag `key=value`. */
                        subject: string;
                        /** @description USD, at most 9 decimals. The limit without raises. */
                        usd: number;
                        /** @enum {string} */
                        window: "day" | "week" | "month" | "quarter" | "total";
                        /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                        starts: string | null;
                        timezone: string;
                        /** @enum {string} */
                        action: "block" | "warn";
                        /** @description USD, at most 9 decimals. The limit with the raises in force. */
                        limit_usd: number;
                        /** @description USD, at most 9 decimals. Charged in the current window. */
                        spent_usd: number;
                        /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                        held_usd: number;
                        /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                        remaining_usd: number;
                        /** @description Start of the current window, ISO 8601. */
                        window_start: string;
                        /** @description End of the current window, ISO 8601. Null: it never resets. */
                        resets_at: string | null;
                        /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                        forecast_exhausted_at: string | null;
                        /** @description Raises in force. */
                        raises: {
                            id: string;
                            /** @description USD, at most 9 decimals. Added to the limit. */
                            usd: number;
                            reason: string;
                            created_at: string;
                            ends_at: string;
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteBudgetsByIdRaisesByRaiseId: {
        parameters: {
            path: {
                id: string;
                raise_id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "budget";
                        /** @enum {string} */
                        level: "account" | "team" | "member" | "key" | "tag";
                        /** @description ID of the account, team, user or key; of a tag `key=value`. */
                        subject: string;
                        /** @description USD, at most 9 decimals. The limit without raises. */
                        usd: number;
                        /** @enum {string} */
                        window: "day" | "week" | "month" | "quarter" | "total";
                        /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                        starts: string | null;
                        timezone: string;
                        /** @enum {string} */
                        action: "block" | "warn";
                        /** @description USD, at most 9 decimals. The limit with the raises in force. */
                        limit_usd: number;
                        /** @description USD, at most 9 decimals. Charged in the current window. */
                        spent_usd: number;
                        /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                        held_usd: number;
                        /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                        remaining_usd: number;
                        /** @description Start of the current window, ISO 8601. */
                        window_start: string;
                        /** @description End of the current window, ISO 8601. Null: it never resets. */
                        resets_at: string | null;
                        /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                        forecast_exhausted_at: string | null;
                        /** @description Raises in force. */
                        raises: {
                            id: string;
                            /** @description USD, at most 9 decimals. Added to the limit. */
                            usd: number;
                            reason: string;
                            created_at: string;
                            ends_at: string;
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getInvoices: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "invoice";
                            /** @description Number of the invoice within the account, from 1 without gaps. */
                            number: number;
                            account: {
                                id: string;
                                /** @description Name of the account when the invoice was closed. */
                                name: string;
                            };
                            /** @enum {string} */
                            status: "closed";
                            /** @enum {string} */
                            currency: "USD";
                            /** @description ISO 8601 UTC. First day of the month. */
                            period_start: string;
                            /** @description ISO 8601 UTC. First day of the next month, exclusive. */
                            period_end: string;
                            /** @description USD, at most 9 decimals. Balance before the first entry. */
                            opening_balance_usd: number;
                            /** @description USD, at most 9 decimals. Balance after the last entry: opening balance plus credits minus total. */
                            closing_balance_usd: number;
                            /** @description USD, at most 9 decimals. Charges of the month: lines and adjustments. */
                            total_usd: number;
                            /** @description ISO 8601 UTC. The invoice does not change after this time. */
                            closed_at: string;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getInvoicesById: {
        parameters: {
            query?: {
                /** @description `html` returns a page to print. By default the `Accept` header decides, and JSON is preferred. */
                format?: "json" | "html" | "csv";
            };
            path: {
                id: string;
            };
        };
        responses: {
            /** @description The invoice. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "invoice";
                        /** @description Number of the invoice within the account, from 1 without gaps. */
                        number: number;
                        account: {
                            id: string;
                            /** @description Name of the account when the invoice was closed. */
                            name: string;
                        };
                        /** @enum {string} */
                        status: "closed";
                        /** @enum {string} */
                        currency: "USD";
                        /** @description ISO 8601 UTC. First day of the month. */
                        period_start: string;
                        /** @description ISO 8601 UTC. First day of the next month, exclusive. */
                        period_end: string;
                        /** @description USD, at most 9 decimals. Balance before the first entry. */
                        opening_balance_usd: number;
                        /** @description USD, at most 9 decimals. Balance after the last entry: opening balance plus credits minus total. */
                        closing_balance_usd: number;
                        /** @description USD, at most 9 decimals. Charges of the month: lines and adjustments. */
                        total_usd: number;
                        /** @description ISO 8601 UTC. The invoice does not change after this time. */
                        closed_at: string;
                        /** @description Who bills. Null: not configured. */
                        seller: {
                            name: string;
                            /** @description Its lines. */
                            address: string[];
                            /** @description Tax number. */
                            tax_id: string | null;
                        } | null;
                        /** @description Who is billed. Null: only the account is known. */
                        buyer: {
                            name: string;
                            /** @description Its lines. */
                            address: string[];
                            /** @description Tax number. */
                            tax_id: string | null;
                        } | null;
                        /** @description USD, at most 9 decimals. The total, rounded to the cent. */
                        subtotal_usd: number;
                        /** @description Taxes on the subtotal, each rounded to the cent. */
                        taxes: {
                            name: string;
                            percent: number;
                            /** @description USD, at most 9 decimals. */
                            amount_usd: number;
                        }[];
                        /** @description USD, at most 9 decimals. The subtotal and the taxes. */
                        payable_usd: number;
                        /** @description Most expensive model first. */
                        lines: {
                            model: string;
                            /** @description Number of completions that are not free. */
                            requests: number;
                            prompt_tokens: number;
                            completion_tokens: number;
                            /** @description USD, at most 9 decimals. */
                            cost_usd: number;
                        }[];
                        adjustments: {
                            /** @description ID of the ledger entry. */
                            id: string;
                            /** @enum {string} */
                            kind: "grant" | "purchase" | "charge" | "refund" | "debit" | "expiry";
                            /** @description Reason of the entry. */
                            note: string | null;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                            /** @description USD, at most 9 decimals. Positive: an additional charge. Negative: a reduction. */
                            amount_usd: number;
                            /** @description ID of the ledger entry that it corrects. */
                            adjusts: string | null;
                            /** @description ID of the charged completion. */
                            completion_id: string | null;
                        }[];
                        /** @description Further entries that are not listed; see `GET /ledger`. */
                        unlisted_adjustments: {
                            entries: number;
                            /** @description USD, at most 9 decimals. */
                            amount_usd: number;
                        };
                        credits: {
                            /** @description ID of the ledger entry. */
                            id: string;
                            /** @enum {string} */
                            kind: "grant" | "purchase" | "charge" | "refund" | "debit" | "expiry";
                            /** @description Reason of the entry. */
                            note: string | null;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                            /** @description USD, at most 9 decimals. Positive: granted. Negative: expired. */
                            amount_usd: number;
                        }[];
                        /** @description Further entries that are not listed; see `GET /ledger`. */
                        unlisted_credits: {
                            entries: number;
                            /** @description USD, at most 9 decimals. */
                            amount_usd: number;
                        };
                    };
                    "text/html": string;
                    "text/csv": string;
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAccount: {
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "account";
                        name: string;
                        plan: string;
                        /** @description What deployments that answer requests of the account must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                        data_policy: {
                            /**
                             * @description deny: only deployments that do not keep data to train on.
                             * @enum {string}
                             */
                            data_collection?: "allow" | "deny";
                            /** @description true: only deployments with zero data retention. */
                            zdr?: boolean;
                            /** @description Only deployments in one of these regions. */
                            regions?: string[];
                        } | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description Null: no limit. */
                        monthly_budget_usd: number | null;
                        alert_thresholds: number[];
                        /** @description Unspent part of the monthly allowance, which expires with the month. */
                        allowance_usd: number;
                        /** @description Limits of the plan. */
                        limits: {
                            /** @description Requests per minute. Null: no limit. */
                            requests_per_minute: number | null;
                            /** @description Tokens per minute. Null: no limit. */
                            tokens_per_minute: number | null;
                            /** @description Maximum number of concurrent requests. */
                            max_in_flight: number;
                        };
                        /** @description Its budgets besides `monthly_budget_usd`. */
                        budgets: {
                            id: string;
                            /** @enum {string} */
                            object: "budget";
                            /** @enum {string} */
                            level: "account" | "team" | "member" | "key" | "tag";
                            /** @description ID of the account, team, user or key; of a tag `key=value`. */
                            subject: string;
                            /** @description USD, at most 9 decimals. The limit without raises. */
                            usd: number;
                            /** @enum {string} */
                            window: "day" | "week" | "month" | "quarter" | "total";
                            /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                            starts: string | null;
                            timezone: string;
                            /** @enum {string} */
                            action: "block" | "warn";
                            /** @description USD, at most 9 decimals. The limit with the raises in force. */
                            limit_usd: number;
                            /** @description USD, at most 9 decimals. Charged in the current window. */
                            spent_usd: number;
                            /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                            held_usd: number;
                            /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                            remaining_usd: number;
                            /** @description Start of the current window, ISO 8601. */
                            window_start: string;
                            /** @description End of the current window, ISO 8601. Null: it never resets. */
                            resets_at: string | null;
                            /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                            forecast_exhausted_at: string | null;
                            /** @description Raises in force. */
                            raises: {
                                id: string;
                                /** @description USD, at most 9 decimals. Added to the limit. */
                                usd: number;
                                reason: string;
                                created_at: string;
                                ends_at: string;
                            }[];
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchAccount: {
        requestBody: {
            content: {
                "application/json": {
                    name?: string;
                    /** @description Spending limit of a calendar month, UTC, in USD with at most 9 decimals. Null: no limit. */
                    monthly_budget_usd?: number | null;
                    /** @description Percentages of the budget, or of the monthly allowance, that trigger an alert; ascending. */
                    alert_thresholds?: number[];
                    /** @description What deployments that answer requests of the account must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                    data_policy?: {
                        /**
                         * @description deny: only deployments that do not keep data to train on.
                         * @enum {string}
                         */
                        data_collection?: "allow" | "deny";
                        /** @description true: only deployments with zero data retention. */
                        zdr?: boolean;
                        /** @description Only deployments in one of these regions. */
                        regions?: string[];
                    } | null;
                    /** @description Replaces all budgets. Those with the same window, time zone and start keep what is spent. */
                    budgets?: {
                        /** @description USD, at most 9 decimals. */
                        usd: number;
                        /**
                         * @description total: it never resets.
                         * @enum {string}
                         */
                        window: "day" | "week" | "month" | "quarter" | "total";
                        /**
                         * @description Start of the first window, from which the others are counted: a date in the time zone, or an ISO 8601 time. Null: windows of the calendar.
                         * @example 2030-01-01
                         */
                        starts?: string | null;
                        /** @description IANA name. Default: UTC. */
                        timezone?: string;
                        /**
                         * @description block (default): rejects requests beyond it with 402. warn: alerts only.
                         * @enum {string}
                         */
                        action?: "block" | "warn";
                    }[];
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "account";
                        name: string;
                        plan: string;
                        /** @description What deployments that answer requests of the account must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                        data_policy: {
                            /**
                             * @description deny: only deployments that do not keep data to train on.
                             * @enum {string}
                             */
                            data_collection?: "allow" | "deny";
                            /** @description true: only deployments with zero data retention. */
                            zdr?: boolean;
                            /** @description Only deployments in one of these regions. */
                            regions?: string[];
                        } | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description Null: no limit. */
                        monthly_budget_usd: number | null;
                        alert_thresholds: number[];
                        /** @description Unspent part of the monthly allowance, which expires with the month. */
                        allowance_usd: number;
                        /** @description Limits of the plan. */
                        limits: {
                            /** @description Requests per minute. Null: no limit. */
                            requests_per_minute: number | null;
                            /** @description Tokens per minute. Null: no limit. */
                            tokens_per_minute: number | null;
                            /** @description Maximum number of concurrent requests. */
                            max_in_flight: number;
                        };
                        /** @description Its budgets besides `monthly_budget_usd`. */
                        budgets: {
                            id: string;
                            /** @enum {string} */
                            object: "budget";
                            /** @enum {string} */
                            level: "account" | "team" | "member" | "key" | "tag";
                            /** @description ID of the account, team, user or key; of a tag `key=value`. */
                            subject: string;
                            /** @description USD, at most 9 decimals. The limit without raises. */
                            usd: number;
                            /** @enum {string} */
                            window: "day" | "week" | "month" | "quarter" | "total";
                            /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                            starts: string | null;
                            timezone: string;
                            /** @enum {string} */
                            action: "block" | "warn";
                            /** @description USD, at most 9 decimals. The limit with the raises in force. */
                            limit_usd: number;
                            /** @description USD, at most 9 decimals. Charged in the current window. */
                            spent_usd: number;
                            /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                            held_usd: number;
                            /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                            remaining_usd: number;
                            /** @description Start of the current window, ISO 8601. */
                            window_start: string;
                            /** @description End of the current window, ISO 8601. Null: it never resets. */
                            resets_at: string | null;
                            /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                            forecast_exhausted_at: string | null;
                            /** @description Raises in force. */
                            raises: {
                                id: string;
                                /** @description USD, at most 9 decimals. Added to the limit. */
                                usd: number;
                                reason: string;
                                created_at: string;
                                ends_at: string;
                            }[];
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAdminAccounts: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
                /** @description Part of the name, ignoring case, or a complete ID; 1 to 100 characters. */
                search?: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "account";
                            name: string;
                            plan: string;
                            /** @description What deployments that answer requests of the account must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                            data_policy: {
                                /**
                                 * @description deny: only deployments that do not keep data to train on.
                                 * @enum {string}
                                 */
                                data_collection?: "allow" | "deny";
                                /** @description true: only deployments with zero data retention. */
                                zdr?: boolean;
                                /** @description Only deployments in one of these regions. */
                                regions?: string[];
                            } | null;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                            /** @description Balance as of the last request, or the last time it was read. */
                            balance_usd: number;
                            /** @description Part of the balance that requests in flight have reserved. */
                            held_usd: number;
                            /** @description Spending in this calendar month, UTC. */
                            spent_this_month_usd: number;
                            /** @description Of the costs of this month’s completions, what is left when the providers are paid. */
                            margin_this_month_usd: number;
                            /** @description Number of members. */
                            members: number;
                            /** @description Overrun cap: how far the balance may fall below zero if a provider uses more than was reserved, in USD. Null: as in the plan. */
                            max_overrun_usd: number | null;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postAdminAccounts: {
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    /** @description Default: the setting `accounts.default_plan`. */
                    plan?: string;
                    /** @description Replaces all budgets. Those with the same window, time zone and start keep what is spent. */
                    budgets?: {
                        /** @description USD, at most 9 decimals. */
                        usd: number;
                        /**
                         * @description total: it never resets.
                         * @enum {string}
                         */
                        window: "day" | "week" | "month" | "quarter" | "total";
                        /**
                         * @description Start of the first window, from which the others are counted: a date in the time zone, or an ISO 8601 time. Null: windows of the calendar.
                         * @example 2030-01-01
                         */
                        starts?: string | null;
                        /** @description IANA name. Default: UTC. */
                        timezone?: string;
                        /**
                         * @description block (default): rejects requests beyond it with 402. warn: alerts only.
                         * @enum {string}
                         */
                        action?: "block" | "warn";
                    }[];
                };
            };
        };
        responses: {
            /** @description Success. */
            201: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "account";
                        name: string;
                        plan: string;
                        /** @description What deployments that answer requests of the account must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                        data_policy: {
                            /**
                             * @description deny: only deployments that do not keep data to train on.
                             * @enum {string}
                             */
                            data_collection?: "allow" | "deny";
                            /** @description true: only deployments with zero data retention. */
                            zdr?: boolean;
                            /** @description Only deployments in one of these regions. */
                            regions?: string[];
                        } | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description Balance as of the last request, or the last time it was read. */
                        balance_usd: number;
                        /** @description Part of the balance that requests in flight have reserved. */
                        held_usd: number;
                        /** @description Spending in this calendar month, UTC. */
                        spent_this_month_usd: number;
                        /** @description Of the costs of this month’s completions, what is left when the providers are paid. */
                        margin_this_month_usd: number;
                        /** @description Number of members. */
                        members: number;
                        /** @description Overrun cap: how far the balance may fall below zero if a provider uses more than was reserved, in USD. Null: as in the plan. */
                        max_overrun_usd: number | null;
                        /** @description Its budgets besides its monthly budget. */
                        budgets: {
                            id: string;
                            /** @enum {string} */
                            object: "budget";
                            /** @enum {string} */
                            level: "account" | "team" | "member" | "key" | "tag";
                            /** @description ID of the account, team, user or key; of a tag `key=value`. */
                            subject: string;
                            /** @description USD, at most 9 decimals. The limit without raises. */
                            usd: number;
                            /** @enum {string} */
                            window: "day" | "week" | "month" | "quarter" | "total";
                            /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                            starts: string | null;
                            timezone: string;
                            /** @enum {string} */
                            action: "block" | "warn";
                            /** @description USD, at most 9 decimals. The limit with the raises in force. */
                            limit_usd: number;
                            /** @description USD, at most 9 decimals. Charged in the current window. */
                            spent_usd: number;
                            /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                            held_usd: number;
                            /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                            remaining_usd: number;
                            /** @description Start of the current window, ISO 8601. */
                            window_start: string;
                            /** @description End of the current window, ISO 8601. Null: it never resets. */
                            resets_at: string | null;
                            /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                            forecast_exhausted_at: string | null;
                            /** @description Raises in force. */
                            raises: {
                                id: string;
                                /** @description USD, at most 9 decimals. Added to the limit. */
                                usd: number;
                                reason: string;
                                created_at: string;
                                ends_at: string;
                            }[];
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAdminAccountsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "account";
                        name: string;
                        plan: string;
                        /** @description What deployments that answer requests of the account must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                        data_policy: {
                            /**
                             * @description deny: only deployments that do not keep data to train on.
                             * @enum {string}
                             */
                            data_collection?: "allow" | "deny";
                            /** @description true: only deployments with zero data retention. */
                            zdr?: boolean;
                            /** @description Only deployments in one of these regions. */
                            regions?: string[];
                        } | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description Balance as of the last request, or the last time it was read. */
                        balance_usd: number;
                        /** @description Part of the balance that requests in flight have reserved. */
                        held_usd: number;
                        /** @description Spending in this calendar month, UTC. */
                        spent_this_month_usd: number;
                        /** @description Of the costs of this month’s completions, what is left when the providers are paid. */
                        margin_this_month_usd: number;
                        /** @description Number of members. */
                        members: number;
                        /** @description Overrun cap: how far the balance may fall below zero if a provider uses more than was reserved, in USD. Null: as in the plan. */
                        max_overrun_usd: number | null;
                        /** @description Its budgets besides its monthly budget. */
                        budgets: {
                            id: string;
                            /** @enum {string} */
                            object: "budget";
                            /** @enum {string} */
                            level: "account" | "team" | "member" | "key" | "tag";
                            /** @description ID of the account, team, user or key; of a tag `key=value`. */
                            subject: string;
                            /** @description USD, at most 9 decimals. The limit without raises. */
                            usd: number;
                            /** @enum {string} */
                            window: "day" | "week" | "month" | "quarter" | "total";
                            /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                            starts: string | null;
                            timezone: string;
                            /** @enum {string} */
                            action: "block" | "warn";
                            /** @description USD, at most 9 decimals. The limit with the raises in force. */
                            limit_usd: number;
                            /** @description USD, at most 9 decimals. Charged in the current window. */
                            spent_usd: number;
                            /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                            held_usd: number;
                            /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                            remaining_usd: number;
                            /** @description Start of the current window, ISO 8601. */
                            window_start: string;
                            /** @description End of the current window, ISO 8601. Null: it never resets. */
                            resets_at: string | null;
                            /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                            forecast_exhausted_at: string | null;
                            /** @description Raises in force. */
                            raises: {
                                id: string;
                                /** @description USD, at most 9 decimals. Added to the limit. */
                                usd: number;
                                reason: string;
                                created_at: string;
                                ends_at: string;
                            }[];
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchAdminAccountsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    name?: string;
                    /** @description Name of a plan in the configuration. */
                    plan?: string;
                    /** @description What deployments that answer requests of the account must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                    data_policy?: {
                        /**
                         * @description deny: only deployments that do not keep data to train on.
                         * @enum {string}
                         */
                        data_collection?: "allow" | "deny";
                        /** @description true: only deployments with zero data retention. */
                        zdr?: boolean;
                        /** @description Only deployments in one of these regions. */
                        regions?: string[];
                    } | null;
                    /** @description Overrun cap: how far the balance may fall below zero if a provider uses more than was reserved, in USD; at most 9 decimals. Null: as in the plan. */
                    max_overrun_usd?: number | null;
                    /** @description Replaces all budgets. Those with the same window, time zone and start keep what is spent. */
                    budgets?: {
                        /** @description USD, at most 9 decimals. */
                        usd: number;
                        /**
                         * @description total: it never resets.
                         * @enum {string}
                         */
                        window: "day" | "week" | "month" | "quarter" | "total";
                        /**
                         * @description Start of the first window, from which the others are counted: a date in the time zone, or an ISO 8601 time. Null: windows of the calendar.
                         * @example 2030-01-01
                         */
                        starts?: string | null;
                        /** @description IANA name. Default: UTC. */
                        timezone?: string;
                        /**
                         * @description block (default): rejects requests beyond it with 402. warn: alerts only.
                         * @enum {string}
                         */
                        action?: "block" | "warn";
                    }[];
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "account";
                        name: string;
                        plan: string;
                        /** @description What deployments that answer requests of the account must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                        data_policy: {
                            /**
                             * @description deny: only deployments that do not keep data to train on.
                             * @enum {string}
                             */
                            data_collection?: "allow" | "deny";
                            /** @description true: only deployments with zero data retention. */
                            zdr?: boolean;
                            /** @description Only deployments in one of these regions. */
                            regions?: string[];
                        } | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description Balance as of the last request, or the last time it was read. */
                        balance_usd: number;
                        /** @description Part of the balance that requests in flight have reserved. */
                        held_usd: number;
                        /** @description Spending in this calendar month, UTC. */
                        spent_this_month_usd: number;
                        /** @description Of the costs of this month’s completions, what is left when the providers are paid. */
                        margin_this_month_usd: number;
                        /** @description Number of members. */
                        members: number;
                        /** @description Overrun cap: how far the balance may fall below zero if a provider uses more than was reserved, in USD. Null: as in the plan. */
                        max_overrun_usd: number | null;
                        /** @description Its budgets besides its monthly budget. */
                        budgets: {
                            id: string;
                            /** @enum {string} */
                            object: "budget";
                            /** @enum {string} */
                            level: "account" | "team" | "member" | "key" | "tag";
                            /** @description ID of the account, team, user or key; of a tag `key=value`. */
                            subject: string;
                            /** @description USD, at most 9 decimals. The limit without raises. */
                            usd: number;
                            /** @enum {string} */
                            window: "day" | "week" | "month" | "quarter" | "total";
                            /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                            starts: string | null;
                            timezone: string;
                            /** @enum {string} */
                            action: "block" | "warn";
                            /** @description USD, at most 9 decimals. The limit with the raises in force. */
                            limit_usd: number;
                            /** @description USD, at most 9 decimals. Charged in the current window. */
                            spent_usd: number;
                            /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                            held_usd: number;
                            /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                            remaining_usd: number;
                            /** @description Start of the current window, ISO 8601. */
                            window_start: string;
                            /** @description End of the current window, ISO 8601. Null: it never resets. */
                            resets_at: string | null;
                            /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                            forecast_exhausted_at: string | null;
                            /** @description Raises in force. */
                            raises: {
                                id: string;
                                /** @description USD, at most 9 decimals. Added to the limit. */
                                usd: number;
                                reason: string;
                                created_at: string;
                                ends_at: string;
                            }[];
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAdminPlans: {
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        object: "list";
                        data: {
                            /** @description Name. */
                            id: string;
                            /** @enum {string} */
                            object: "plan";
                            /** @description Whether new accounts have this plan by default. */
                            default: boolean;
                            /** @description Monthly allowance. The unspent part expires with the month. */
                            monthly_credit_usd: number;
                            /** @description Overrun cap: how far a balance may fall below zero if a provider uses more than was reserved. */
                            max_overrun_usd: number;
                            /** @description Percent that is added to the prices of models. */
                            markup_percent: number;
                            /** @description USD that is charged for each call of a provider, besides the price. */
                            request_fee_usd: number;
                            /** @description Whether requests require credit. False: the plan is postpaid. */
                            prepaid: boolean;
                            /** @description Requests per minute. Null: no limit. */
                            requests_per_minute: number | null;
                            /** @description Tokens per minute. Null: no limit. */
                            tokens_per_minute: number | null;
                            /** @description Maximum number of concurrent requests. */
                            max_in_flight: number;
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postAdminAccountsByIdCredits: {
        parameters: {
            header?: {
                /** @description Creates at most one entry of the account per key. A repeat returns the first response with `idempotent-replayed: true`; with another body it returns 409 `idempotency_key_reused`. */
                "idempotency-key"?: string;
            };
            path: {
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description grant: credit without payment. purchase: paid credit. refund: credit returned to the customer. debit: deducted credit, such as for a chargeback or a correction; the balance may become negative.
                     * @enum {string}
                     */
                    kind: "grant" | "purchase" | "refund" | "debit";
                    /** @description USD, at most 9 decimals. Added to the balance; a debit is deducted from it. */
                    usd: number;
                    /** @description Reason, visible to the customer. Required for a debit. */
                    note?: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            201: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "ledger_entry";
                        /**
                         * @description grant: credit without payment, such as the monthly allowance. purchase: paid credit. charge: a completion. refund: returned credit. debit: credit that the operator deducted, such as for a chargeback. expiry: the unspent part of an allowance.
                         * @enum {string}
                         */
                        kind: "grant" | "purchase" | "charge" | "refund" | "debit" | "expiry";
                        /** @description USD, at most 9 decimals; negative for deductions. */
                        amount_usd: number;
                        /** @description Balance after the entry, in USD. */
                        balance_usd: number;
                        /** @description For a charge: the completion. */
                        completion_id: string | null;
                        /** @description For a charge: the API key of the request. */
                        key_id: string | null;
                        /** @description For a charge: the version of its price. */
                        price_version: string | null;
                        /** @description The entry that this one corrects. */
                        adjusts: string | null;
                        /** @description Reason of the entry. */
                        note: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getTelemetryDestinations: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "telemetry_destination";
                            name: string;
                            /**
                             * @description The service: `otlp` (`url` required), `langfuse` (default https://cloud.langfuse.com/api/public/otel/v1/traces; credential: public key:secret key), `langsmith` (default https://api.smith.langchain.com/otel/v1/traces; credential: API key), `datadog` (default https://otlp.datadoghq.com/v1/traces; credential: API key), `honeycomb` (default https://api.honeycomb.io/v1/traces; credential: ingest key), `grafana_cloud` (`url` required; credential: instance ID:token).
                             * @enum {string}
                             */
                            kind: "otlp" | "langfuse" | "langsmith" | "datadog" | "honeycomb" | "grafana_cloud";
                            /** @description Where traces are sent. */
                            url: string;
                            /** @description Names of further request headers. */
                            header_names: string[];
                            has_credential: boolean;
                            /** @description The team whose requests are sent. Null: all of the account. */
                            team_id: string | null;
                            /** @description Whether traces are sent. */
                            enabled: boolean;
                            /** @description Whether spans have prompts and answers, where content capture applies. To change such a destination requires the right `content`. */
                            content: boolean;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postTelemetryDestinations: {
        requestBody: {
            content: {
                "application/json": {
                    /** @description A label. */
                    name: string;
                    /**
                     * @description The service: `otlp` (`url` required), `langfuse` (default https://cloud.langfuse.com/api/public/otel/v1/traces; credential: public key:secret key), `langsmith` (default https://api.smith.langchain.com/otel/v1/traces; credential: API key), `datadog` (default https://otlp.datadoghq.com/v1/traces; credential: API key), `honeycomb` (default https://api.honeycomb.io/v1/traces; credential: ingest key), `grafana_cloud` (`url` required; credential: instance ID:token).
                     * @enum {string}
                     */
                    kind: "otlp" | "langfuse" | "langsmith" | "datadog" | "honeycomb" | "grafana_cloud";
                    /** @description A public `https:` address. The path for traces is appended where the kind has one. */
                    url?: string;
                    /** @description The key of the service. It is stored sealed and never returned. */
                    credential?: string;
                    /** @description Further request headers. Stored sealed and never returned. */
                    headers?: {
                        [key: string]: string;
                    };
                    /** @description Only requests of this team. Null: all of the account. */
                    team_id?: string | null;
                    /** @description Whether traces are sent. */
                    enabled?: boolean;
                    /** @description Whether spans have prompts and answers, where content capture applies. To change such a destination requires the right `content`. */
                    content?: boolean;
                };
            };
        };
        responses: {
            /** @description Success. */
            201: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "telemetry_destination";
                        name: string;
                        /**
                         * @description The service: `otlp` (`url` required), `langfuse` (default https://cloud.langfuse.com/api/public/otel/v1/traces; credential: public key:secret key), `langsmith` (default https://api.smith.langchain.com/otel/v1/traces; credential: API key), `datadog` (default https://otlp.datadoghq.com/v1/traces; credential: API key), `honeycomb` (default https://api.honeycomb.io/v1/traces; credential: ingest key), `grafana_cloud` (`url` required; credential: instance ID:token).
                         * @enum {string}
                         */
                        kind: "otlp" | "langfuse" | "langsmith" | "datadog" | "honeycomb" | "grafana_cloud";
                        /** @description Where traces are sent. */
                        url: string;
                        /** @description Names of further request headers. */
                        header_names: string[];
                        has_credential: boolean;
                        /** @description The team whose requests are sent. Null: all of the account. */
                        team_id: string | null;
                        /** @description Whether traces are sent. */
                        enabled: boolean;
                        /** @description Whether spans have prompts and answers, where content capture applies. To change such a destination requires the right `content`. */
                        content: boolean;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getTelemetryDestinationsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "telemetry_destination";
                        name: string;
                        /**
                         * @description The service: `otlp` (`url` required), `langfuse` (default https://cloud.langfuse.com/api/public/otel/v1/traces; credential: public key:secret key), `langsmith` (default https://api.smith.langchain.com/otel/v1/traces; credential: API key), `datadog` (default https://otlp.datadoghq.com/v1/traces; credential: API key), `honeycomb` (default https://api.honeycomb.io/v1/traces; credential: ingest key), `grafana_cloud` (`url` required; credential: instance ID:token).
                         * @enum {string}
                         */
                        kind: "otlp" | "langfuse" | "langsmith" | "datadog" | "honeycomb" | "grafana_cloud";
                        /** @description Where traces are sent. */
                        url: string;
                        /** @description Names of further request headers. */
                        header_names: string[];
                        has_credential: boolean;
                        /** @description The team whose requests are sent. Null: all of the account. */
                        team_id: string | null;
                        /** @description Whether traces are sent. */
                        enabled: boolean;
                        /** @description Whether spans have prompts and answers, where content capture applies. To change such a destination requires the right `content`. */
                        content: boolean;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteTelemetryDestinationsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            204: {
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchTelemetryDestinationsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description A label. */
                    name?: string;
                    /** @description A public `https:` address. The path for traces is appended where the kind has one. */
                    url?: string;
                    /** @description The key of the service. It is stored sealed and never returned. */
                    credential?: string;
                    /** @description Further request headers. Stored sealed and never returned. */
                    headers?: {
                        [key: string]: string;
                    };
                    /** @description Whether traces are sent. */
                    enabled?: boolean;
                    /** @description Whether spans have prompts and answers, where content capture applies. To change such a destination requires the right `content`. */
                    content?: boolean;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "telemetry_destination";
                        name: string;
                        /**
                         * @description The service: `otlp` (`url` required), `langfuse` (default https://cloud.langfuse.com/api/public/otel/v1/traces; credential: public key:secret key), `langsmith` (default https://api.smith.langchain.com/otel/v1/traces; credential: API key), `datadog` (default https://otlp.datadoghq.com/v1/traces; credential: API key), `honeycomb` (default https://api.honeycomb.io/v1/traces; credential: ingest key), `grafana_cloud` (`url` required; credential: instance ID:token).
                         * @enum {string}
                         */
                        kind: "otlp" | "langfuse" | "langsmith" | "datadog" | "honeycomb" | "grafana_cloud";
                        /** @description Where traces are sent. */
                        url: string;
                        /** @description Names of further request headers. */
                        header_names: string[];
                        has_credential: boolean;
                        /** @description The team whose requests are sent. Null: all of the account. */
                        team_id: string | null;
                        /** @description Whether traces are sent. */
                        enabled: boolean;
                        /** @description Whether spans have prompts and answers, where content capture applies. To change such a destination requires the right `content`. */
                        content: boolean;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postTelemetryDestinationsByIdTest: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        object: "telemetry_destination_test";
                        /** @description Whether the destination accepted a span. */
                        ok: boolean;
                        /** @description Why not. */
                        error: string | null;
                        duration_ms: number;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getProviderCredentials: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "provider_credential";
                            /** @description Name of the provider in the configuration. */
                            provider: string;
                            name: string;
                            /** @description Last characters of the key. */
                            last4: string;
                            /** @description The API key whose requests it is for. Null: all requests of the account. */
                            key_id: string | null;
                            /** @description Whether the operator’s credentials may be used, at the full price, when this one is refused, limited or failing. */
                            allow_fallback: boolean;
                            /**
                             * @description verified: the provider accepted the key. untested: the provider could not be reached, or its answer does not show whether the key is valid. refused: the provider refused the key in the last request.
                             * @enum {string}
                             */
                            status: "verified" | "untested" | "refused";
                            /** @description Time of the last test of the key, ISO 8601 UTC. */
                            last_tested_at: string | null;
                            /** @description Time of the last rotation, ISO 8601 UTC. Null: never. */
                            rotated_at: string | null;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                            /** @description The person who added it. Null: no person did. */
                            created_by: {
                                user_id: string;
                                email: string;
                                name: string;
                            } | null;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postProviderCredentials: {
        requestBody: {
            content: {
                "application/json": {
                    /** @description Name of the provider in the configuration. */
                    provider: string;
                    /** @description The key of the provider, which is tested with one call. It is stored sealed and never returned. */
                    api_key: string;
                    /** @description A label. */
                    name?: string;
                    /** @description Only for requests of this API key and of the keys that it created. Null: for all requests of the account. */
                    key_id?: string | null;
                    /** @description Whether the operator’s credentials may be used, at the full price, when this one is refused, limited or failing. */
                    allow_fallback?: boolean;
                };
            };
        };
        responses: {
            /** @description Success. */
            201: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "provider_credential";
                        /** @description Name of the provider in the configuration. */
                        provider: string;
                        name: string;
                        /** @description Last characters of the key. */
                        last4: string;
                        /** @description The API key whose requests it is for. Null: all requests of the account. */
                        key_id: string | null;
                        /** @description Whether the operator’s credentials may be used, at the full price, when this one is refused, limited or failing. */
                        allow_fallback: boolean;
                        /**
                         * @description verified: the provider accepted the key. untested: the provider could not be reached, or its answer does not show whether the key is valid. refused: the provider refused the key in the last request.
                         * @enum {string}
                         */
                        status: "verified" | "untested" | "refused";
                        /** @description Time of the last test of the key, ISO 8601 UTC. */
                        last_tested_at: string | null;
                        /** @description Time of the last rotation, ISO 8601 UTC. Null: never. */
                        rotated_at: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description The person who added it. Null: no person did. */
                        created_by: {
                            user_id: string;
                            email: string;
                            name: string;
                        } | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getProviderCredentialsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "provider_credential";
                        /** @description Name of the provider in the configuration. */
                        provider: string;
                        name: string;
                        /** @description Last characters of the key. */
                        last4: string;
                        /** @description The API key whose requests it is for. Null: all requests of the account. */
                        key_id: string | null;
                        /** @description Whether the operator’s credentials may be used, at the full price, when this one is refused, limited or failing. */
                        allow_fallback: boolean;
                        /**
                         * @description verified: the provider accepted the key. untested: the provider could not be reached, or its answer does not show whether the key is valid. refused: the provider refused the key in the last request.
                         * @enum {string}
                         */
                        status: "verified" | "untested" | "refused";
                        /** @description Time of the last test of the key, ISO 8601 UTC. */
                        last_tested_at: string | null;
                        /** @description Time of the last rotation, ISO 8601 UTC. Null: never. */
                        rotated_at: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description The person who added it. Null: no person did. */
                        created_by: {
                            user_id: string;
                            email: string;
                            name: string;
                        } | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteProviderCredentialsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            204: {
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchProviderCredentialsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The key of the provider, which is tested with one call. It is stored sealed and never returned. */
                    api_key?: string;
                    /** @description A label. */
                    name?: string;
                    /** @description Whether the operator’s credentials may be used, at the full price, when this one is refused, limited or failing. */
                    allow_fallback?: boolean;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "provider_credential";
                        /** @description Name of the provider in the configuration. */
                        provider: string;
                        name: string;
                        /** @description Last characters of the key. */
                        last4: string;
                        /** @description The API key whose requests it is for. Null: all requests of the account. */
                        key_id: string | null;
                        /** @description Whether the operator’s credentials may be used, at the full price, when this one is refused, limited or failing. */
                        allow_fallback: boolean;
                        /**
                         * @description verified: the provider accepted the key. untested: the provider could not be reached, or its answer does not show whether the key is valid. refused: the provider refused the key in the last request.
                         * @enum {string}
                         */
                        status: "verified" | "untested" | "refused";
                        /** @description Time of the last test of the key, ISO 8601 UTC. */
                        last_tested_at: string | null;
                        /** @description Time of the last rotation, ISO 8601 UTC. Null: never. */
                        rotated_at: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description The person who added it. Null: no person did. */
                        created_by: {
                            user_id: string;
                            email: string;
                            name: string;
                        } | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getGuardrails: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "guardrail";
                            /** @description Errors name it. */
                            name: string;
                            rules: ({
                                /** @enum {string} */
                                kind: "secrets";
                                /**
                                 * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                                 * @enum {string}
                                 */
                                action: "mask" | "block";
                                /** @description Default: both. */
                                applies_to?: ("prompt" | "answer")[];
                            } | {
                                /** @enum {string} */
                                kind: "pii";
                                /**
                                 * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                                 * @enum {string}
                                 */
                                action: "mask" | "block";
                                /** @description Default: both. */
                                applies_to?: ("prompt" | "answer")[];
                                /** @description Default: all but `ip_address`. */
                                types?: ("email" | "phone" | "credit_card" | "iban" | "us_ssn" | "ip_address")[];
                            } | ({
                                /** @enum {string} */
                                kind: "regex";
                                /**
                                 * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                                 * @enum {string}
                                 */
                                action: "mask" | "block";
                                /** @description Default: both. */
                                applies_to?: ("prompt" | "answer")[];
                                /** @description RE2 syntax, which takes linear time. */
                                pattern?: string;
                                /** @description Whole words or phrases. */
                                words?: string[];
                                /** @description Default: words ignore case, patterns do not. */
                                ignore_case?: boolean;
                                /** @description Default: [REDACTED] */
                                replacement?: string;
                                /** @description Characters of a streamed answer that are withheld, so that a match of `pattern` that arrives in pieces is found; at least the longest match. Default: 256. */
                                window?: number;
                            } | unknown | unknown) | ({
                                /** @enum {string} */
                                kind: "max_prompt";
                                /** @enum {string} */
                                action?: "block";
                                /** @description Of all texts of the prompt. */
                                max_characters?: number;
                                /** @description As the gateway estimates them. */
                                max_tokens?: number;
                            } | unknown | unknown) | {
                                /** @enum {string} */
                                kind: "tools";
                                /** @enum {string} */
                                action?: "block";
                                /** @description Names of the only tools that requests may have; empty: none. */
                                allowed: string[];
                            } | {
                                /** @enum {string} */
                                kind: "http";
                                /**
                                 * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                                 * @enum {string}
                                 */
                                action?: "mask" | "block";
                                url: string;
                                /** @description `pre`: prompts. `post`: whole answers, which are withheld until the hook has answered. `stream`: answers, piece by piece. Default: `pre`. */
                                stages?: ("pre" | "post" | "stream")[];
                                /** @description Default: 2000. */
                                timeout_ms?: number;
                                /**
                                 * @description What happens where the hook does not answer in time: `open` lets pass, `closed` (default) blocks.
                                 * @enum {string}
                                 */
                                fail?: "open" | "closed";
                            })[];
                            /** @description IDs: only for the requests of these keys, with those of the keys that they created, and of these teams. Null for both: for the whole account. */
                            teams: string[] | null;
                            /** @description IDs: only for the requests of these keys, with those of the keys that they created, and of these teams. Null for both: for the whole account. */
                            keys: string[] | null;
                            enabled: boolean;
                            /** @description Verifies the signature of calls to the account’s hooks, as of webhooks. Null: no rule has a hook. */
                            signing_secret: string | null;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                            /** @description ISO 8601 UTC. */
                            updated_at: string;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postGuardrails: {
        requestBody: {
            content: {
                "application/json": {
                    /** @description Errors name it. */
                    name: string;
                    rules: ({
                        /** @enum {string} */
                        kind: "secrets";
                        /**
                         * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                         * @enum {string}
                         */
                        action: "mask" | "block";
                        /** @description Default: both. */
                        applies_to?: ("prompt" | "answer")[];
                    } | {
                        /** @enum {string} */
                        kind: "pii";
                        /**
                         * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                         * @enum {string}
                         */
                        action: "mask" | "block";
                        /** @description Default: both. */
                        applies_to?: ("prompt" | "answer")[];
                        /** @description Default: all but `ip_address`. */
                        types?: ("email" | "phone" | "credit_card" | "iban" | "us_ssn" | "ip_address")[];
                    } | ({
                        /** @enum {string} */
                        kind: "regex";
                        /**
                         * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                         * @enum {string}
                         */
                        action: "mask" | "block";
                        /** @description Default: both. */
                        applies_to?: ("prompt" | "answer")[];
                        /** @description RE2 syntax, which takes linear time. */
                        pattern?: string;
                        /** @description Whole words or phrases. */
                        words?: string[];
                        /** @description Default: words ignore case, patterns do not. */
                        ignore_case?: boolean;
                        /** @description Default: [REDACTED] */
                        replacement?: string;
                        /** @description Characters of a streamed answer that are withheld, so that a match of `pattern` that arrives in pieces is found; at least the longest match. Default: 256. */
                        window?: number;
                    } | unknown | unknown) | ({
                        /** @enum {string} */
                        kind: "max_prompt";
                        /** @enum {string} */
                        action?: "block";
                        /** @description Of all texts of the prompt. */
                        max_characters?: number;
                        /** @description As the gateway estimates them. */
                        max_tokens?: number;
                    } | unknown | unknown) | {
                        /** @enum {string} */
                        kind: "tools";
                        /** @enum {string} */
                        action?: "block";
                        /** @description Names of the only tools that requests may have; empty: none. */
                        allowed: string[];
                    } | {
                        /** @enum {string} */
                        kind: "http";
                        /**
                         * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                         * @enum {string}
                         */
                        action?: "mask" | "block";
                        url: string;
                        /** @description `pre`: prompts. `post`: whole answers, which are withheld until the hook has answered. `stream`: answers, piece by piece. Default: `pre`. */
                        stages?: ("pre" | "post" | "stream")[];
                        /** @description Default: 2000. */
                        timeout_ms?: number;
                        /**
                         * @description What happens where the hook does not answer in time: `open` lets pass, `closed` (default) blocks.
                         * @enum {string}
                         */
                        fail?: "open" | "closed";
                    })[];
                    /** @description IDs: only for the requests of these keys, with those of the keys that they created, and of these teams. Null for both: for the whole account. */
                    teams?: string[] | null;
                    /** @description IDs: only for the requests of these keys, with those of the keys that they created, and of these teams. Null for both: for the whole account. */
                    keys?: string[] | null;
                    /** @description Default: true. */
                    enabled?: boolean;
                };
            };
        };
        responses: {
            /** @description Success. */
            201: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "guardrail";
                        /** @description Errors name it. */
                        name: string;
                        rules: ({
                            /** @enum {string} */
                            kind: "secrets";
                            /**
                             * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                             * @enum {string}
                             */
                            action: "mask" | "block";
                            /** @description Default: both. */
                            applies_to?: ("prompt" | "answer")[];
                        } | {
                            /** @enum {string} */
                            kind: "pii";
                            /**
                             * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                             * @enum {string}
                             */
                            action: "mask" | "block";
                            /** @description Default: both. */
                            applies_to?: ("prompt" | "answer")[];
                            /** @description Default: all but `ip_address`. */
                            types?: ("email" | "phone" | "credit_card" | "iban" | "us_ssn" | "ip_address")[];
                        } | ({
                            /** @enum {string} */
                            kind: "regex";
                            /**
                             * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                             * @enum {string}
                             */
                            action: "mask" | "block";
                            /** @description Default: both. */
                            applies_to?: ("prompt" | "answer")[];
                            /** @description RE2 syntax, which takes linear time. */
                            pattern?: string;
                            /** @description Whole words or phrases. */
                            words?: string[];
                            /** @description Default: words ignore case, patterns do not. */
                            ignore_case?: boolean;
                            /** @description Default: [REDACTED] */
                            replacement?: string;
                            /** @description Characters of a streamed answer that are withheld, so that a match of `pattern` that arrives in pieces is found; at least the longest match. Default: 256. */
                            window?: number;
                        } | unknown | unknown) | ({
                            /** @enum {string} */
                            kind: "max_prompt";
                            /** @enum {string} */
                            action?: "block";
                            /** @description Of all texts of the prompt. */
                            max_characters?: number;
                            /** @description As the gateway estimates them. */
                            max_tokens?: number;
                        } | unknown | unknown) | {
                            /** @enum {string} */
                            kind: "tools";
                            /** @enum {string} */
                            action?: "block";
                            /** @description Names of the only tools that requests may have; empty: none. */
                            allowed: string[];
                        } | {
                            /** @enum {string} */
                            kind: "http";
                            /**
                             * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                             * @enum {string}
                             */
                            action?: "mask" | "block";
                            url: string;
                            /** @description `pre`: prompts. `post`: whole answers, which are withheld until the hook has answered. `stream`: answers, piece by piece. Default: `pre`. */
                            stages?: ("pre" | "post" | "stream")[];
                            /** @description Default: 2000. */
                            timeout_ms?: number;
                            /**
                             * @description What happens where the hook does not answer in time: `open` lets pass, `closed` (default) blocks.
                             * @enum {string}
                             */
                            fail?: "open" | "closed";
                        })[];
                        /** @description IDs: only for the requests of these keys, with those of the keys that they created, and of these teams. Null for both: for the whole account. */
                        teams: string[] | null;
                        /** @description IDs: only for the requests of these keys, with those of the keys that they created, and of these teams. Null for both: for the whole account. */
                        keys: string[] | null;
                        enabled: boolean;
                        /** @description Verifies the signature of calls to the account’s hooks, as of webhooks. Null: no rule has a hook. */
                        signing_secret: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description ISO 8601 UTC. */
                        updated_at: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getGuardrailsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "guardrail";
                        /** @description Errors name it. */
                        name: string;
                        rules: ({
                            /** @enum {string} */
                            kind: "secrets";
                            /**
                             * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                             * @enum {string}
                             */
                            action: "mask" | "block";
                            /** @description Default: both. */
                            applies_to?: ("prompt" | "answer")[];
                        } | {
                            /** @enum {string} */
                            kind: "pii";
                            /**
                             * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                             * @enum {string}
                             */
                            action: "mask" | "block";
                            /** @description Default: both. */
                            applies_to?: ("prompt" | "answer")[];
                            /** @description Default: all but `ip_address`. */
                            types?: ("email" | "phone" | "credit_card" | "iban" | "us_ssn" | "ip_address")[];
                        } | ({
                            /** @enum {string} */
                            kind: "regex";
                            /**
                             * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                             * @enum {string}
                             */
                            action: "mask" | "block";
                            /** @description Default: both. */
                            applies_to?: ("prompt" | "answer")[];
                            /** @description RE2 syntax, which takes linear time. */
                            pattern?: string;
                            /** @description Whole words or phrases. */
                            words?: string[];
                            /** @description Default: words ignore case, patterns do not. */
                            ignore_case?: boolean;
                            /** @description Default: [REDACTED] */
                            replacement?: string;
                            /** @description Characters of a streamed answer that are withheld, so that a match of `pattern` that arrives in pieces is found; at least the longest match. Default: 256. */
                            window?: number;
                        } | unknown | unknown) | ({
                            /** @enum {string} */
                            kind: "max_prompt";
                            /** @enum {string} */
                            action?: "block";
                            /** @description Of all texts of the prompt. */
                            max_characters?: number;
                            /** @description As the gateway estimates them. */
                            max_tokens?: number;
                        } | unknown | unknown) | {
                            /** @enum {string} */
                            kind: "tools";
                            /** @enum {string} */
                            action?: "block";
                            /** @description Names of the only tools that requests may have; empty: none. */
                            allowed: string[];
                        } | {
                            /** @enum {string} */
                            kind: "http";
                            /**
                             * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                             * @enum {string}
                             */
                            action?: "mask" | "block";
                            url: string;
                            /** @description `pre`: prompts. `post`: whole answers, which are withheld until the hook has answered. `stream`: answers, piece by piece. Default: `pre`. */
                            stages?: ("pre" | "post" | "stream")[];
                            /** @description Default: 2000. */
                            timeout_ms?: number;
                            /**
                             * @description What happens where the hook does not answer in time: `open` lets pass, `closed` (default) blocks.
                             * @enum {string}
                             */
                            fail?: "open" | "closed";
                        })[];
                        /** @description IDs: only for the requests of these keys, with those of the keys that they created, and of these teams. Null for both: for the whole account. */
                        teams: string[] | null;
                        /** @description IDs: only for the requests of these keys, with those of the keys that they created, and of these teams. Null for both: for the whole account. */
                        keys: string[] | null;
                        enabled: boolean;
                        /** @description Verifies the signature of calls to the account’s hooks, as of webhooks. Null: no rule has a hook. */
                        signing_secret: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description ISO 8601 UTC. */
                        updated_at: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteGuardrailsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            204: {
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchGuardrailsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Errors name it. */
                    name?: string;
                    rules?: ({
                        /** @enum {string} */
                        kind: "secrets";
                        /**
                         * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                         * @enum {string}
                         */
                        action: "mask" | "block";
                        /** @description Default: both. */
                        applies_to?: ("prompt" | "answer")[];
                    } | {
                        /** @enum {string} */
                        kind: "pii";
                        /**
                         * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                         * @enum {string}
                         */
                        action: "mask" | "block";
                        /** @description Default: both. */
                        applies_to?: ("prompt" | "answer")[];
                        /** @description Default: all but `ip_address`. */
                        types?: ("email" | "phone" | "credit_card" | "iban" | "us_ssn" | "ip_address")[];
                    } | ({
                        /** @enum {string} */
                        kind: "regex";
                        /**
                         * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                         * @enum {string}
                         */
                        action: "mask" | "block";
                        /** @description Default: both. */
                        applies_to?: ("prompt" | "answer")[];
                        /** @description RE2 syntax, which takes linear time. */
                        pattern?: string;
                        /** @description Whole words or phrases. */
                        words?: string[];
                        /** @description Default: words ignore case, patterns do not. */
                        ignore_case?: boolean;
                        /** @description Default: [REDACTED] */
                        replacement?: string;
                        /** @description Characters of a streamed answer that are withheld, so that a match of `pattern` that arrives in pieces is found; at least the longest match. Default: 256. */
                        window?: number;
                    } | unknown | unknown) | ({
                        /** @enum {string} */
                        kind: "max_prompt";
                        /** @enum {string} */
                        action?: "block";
                        /** @description Of all texts of the prompt. */
                        max_characters?: number;
                        /** @description As the gateway estimates them. */
                        max_tokens?: number;
                    } | unknown | unknown) | {
                        /** @enum {string} */
                        kind: "tools";
                        /** @enum {string} */
                        action?: "block";
                        /** @description Names of the only tools that requests may have; empty: none. */
                        allowed: string[];
                    } | {
                        /** @enum {string} */
                        kind: "http";
                        /**
                         * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                         * @enum {string}
                         */
                        action?: "mask" | "block";
                        url: string;
                        /** @description `pre`: prompts. `post`: whole answers, which are withheld until the hook has answered. `stream`: answers, piece by piece. Default: `pre`. */
                        stages?: ("pre" | "post" | "stream")[];
                        /** @description Default: 2000. */
                        timeout_ms?: number;
                        /**
                         * @description What happens where the hook does not answer in time: `open` lets pass, `closed` (default) blocks.
                         * @enum {string}
                         */
                        fail?: "open" | "closed";
                    })[];
                    /** @description IDs: only for the requests of these keys, with those of the keys that they created, and of these teams. Null for both: for the whole account. */
                    teams?: string[] | null;
                    /** @description IDs: only for the requests of these keys, with those of the keys that they created, and of these teams. Null for both: for the whole account. */
                    keys?: string[] | null;
                    /** @description Default: true. */
                    enabled?: boolean;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "guardrail";
                        /** @description Errors name it. */
                        name: string;
                        rules: ({
                            /** @enum {string} */
                            kind: "secrets";
                            /**
                             * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                             * @enum {string}
                             */
                            action: "mask" | "block";
                            /** @description Default: both. */
                            applies_to?: ("prompt" | "answer")[];
                        } | {
                            /** @enum {string} */
                            kind: "pii";
                            /**
                             * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                             * @enum {string}
                             */
                            action: "mask" | "block";
                            /** @description Default: both. */
                            applies_to?: ("prompt" | "answer")[];
                            /** @description Default: all but `ip_address`. */
                            types?: ("email" | "phone" | "credit_card" | "iban" | "us_ssn" | "ip_address")[];
                        } | ({
                            /** @enum {string} */
                            kind: "regex";
                            /**
                             * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                             * @enum {string}
                             */
                            action: "mask" | "block";
                            /** @description Default: both. */
                            applies_to?: ("prompt" | "answer")[];
                            /** @description RE2 syntax, which takes linear time. */
                            pattern?: string;
                            /** @description Whole words or phrases. */
                            words?: string[];
                            /** @description Default: words ignore case, patterns do not. */
                            ignore_case?: boolean;
                            /** @description Default: [REDACTED] */
                            replacement?: string;
                            /** @description Characters of a streamed answer that are withheld, so that a match of `pattern` that arrives in pieces is found; at least the longest match. Default: 256. */
                            window?: number;
                        } | unknown | unknown) | ({
                            /** @enum {string} */
                            kind: "max_prompt";
                            /** @enum {string} */
                            action?: "block";
                            /** @description Of all texts of the prompt. */
                            max_characters?: number;
                            /** @description As the gateway estimates them. */
                            max_tokens?: number;
                        } | unknown | unknown) | {
                            /** @enum {string} */
                            kind: "tools";
                            /** @enum {string} */
                            action?: "block";
                            /** @description Names of the only tools that requests may have; empty: none. */
                            allowed: string[];
                        } | {
                            /** @enum {string} */
                            kind: "http";
                            /**
                             * @description `mask` replaces what is found; `block` rejects the request, or ends its answer.
                             * @enum {string}
                             */
                            action?: "mask" | "block";
                            url: string;
                            /** @description `pre`: prompts. `post`: whole answers, which are withheld until the hook has answered. `stream`: answers, piece by piece. Default: `pre`. */
                            stages?: ("pre" | "post" | "stream")[];
                            /** @description Default: 2000. */
                            timeout_ms?: number;
                            /**
                             * @description What happens where the hook does not answer in time: `open` lets pass, `closed` (default) blocks.
                             * @enum {string}
                             */
                            fail?: "open" | "closed";
                        })[];
                        /** @description IDs: only for the requests of these keys, with those of the keys that they created, and of these teams. Null for both: for the whole account. */
                        teams: string[] | null;
                        /** @description IDs: only for the requests of these keys, with those of the keys that they created, and of these teams. Null for both: for the whole account. */
                        keys: string[] | null;
                        enabled: boolean;
                        /** @description Verifies the signature of calls to the account’s hooks, as of webhooks. Null: no rule has a hook. */
                        signing_secret: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description ISO 8601 UTC. */
                        updated_at: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getContentCapture: {
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        object: "content_capture";
                        /** @description Whether the operator allows it. */
                        allowed: boolean;
                        enabled: boolean;
                        /** @description IDs: only requests of these API keys and of the keys that they created, or of `teams`. Null for both: of the whole account. */
                        keys: string[] | null;
                        /** @description IDs: only requests of these teams, or of `keys`. Null for both: of the whole account. */
                        teams: string[] | null;
                        /** @description Days that prompts and answers are kept. */
                        retention_days: number;
                        /** @description Largest prompt and answer together; larger ones are not stored. */
                        max_bytes: number;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    putContentCapture: {
        requestBody: {
            content: {
                "application/json": {
                    /** @description Whether prompts and answers are stored from now on. */
                    enabled: boolean;
                    /** @description IDs: only requests of these API keys and of the keys that they created, or of `teams`. Null for both: of the whole account. */
                    keys?: string[] | null;
                    /** @description IDs: only requests of these teams, or of `keys`. Null for both: of the whole account. */
                    teams?: string[] | null;
                    /** @description Days that prompts and answers are kept. */
                    retention_days?: number;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        object: "content_capture";
                        /** @description Whether the operator allows it. */
                        allowed: boolean;
                        enabled: boolean;
                        /** @description IDs: only requests of these API keys and of the keys that they created, or of `teams`. Null for both: of the whole account. */
                        keys: string[] | null;
                        /** @description IDs: only requests of these teams, or of `keys`. Null for both: of the whole account. */
                        teams: string[] | null;
                        /** @description Days that prompts and answers are kept. */
                        retention_days: number;
                        /** @description Largest prompt and answer together; larger ones are not stored. */
                        max_bytes: number;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getUsageCompletionsByIdContent: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @description ID of the completion. */
                        id: string;
                        /** @enum {string} */
                        object: "completion_content";
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        model: string;
                        /**
                         * @description The API that the request came by.
                         * @enum {string}
                         */
                        api: "chat_completions" | "messages" | "responses" | "completions" | "embeddings" | "rerank";
                        /** @description The body, as guardrails left it. */
                        request: {
                            [key: string]: unknown;
                        };
                        /** @description The prompt as messages of Chat Completions, whatever the API. Empty: it can no longer be read. */
                        messages: {
                            [key: string]: unknown;
                        }[];
                        /** @description The answer as a chat completion, whatever the API, as far as it was delivered. Null: none. */
                        response: {
                            [key: string]: unknown;
                        } | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteUsageCompletionsByIdContent: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            204: {
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getUsageContent: {
        parameters: {
            query?: {
                /**
                 * @description ISO 8601 UTC: only completions created at or after this time.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_start?: string;
                /**
                 * @description ISO 8601 UTC: only completions created before this time.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_end?: string;
                /** @description Only this model. */
                model?: string;
                /** @description Only requests of this API key, device or signed-in person. */
                key_id?: string;
                /** @description Only completions with this status. */
                status?: "completed" | "failed" | "client_left" | "incomplete";
                /** @description Only completions of this provider, by its name in the configuration. */
                provider?: string;
                /** @description Only completions with an attempt of this outcome, as in `attempt_log`. */
                outcome?: "abandoned" | "rejected" | "credentials" | "quota" | "rate_limited" | "not_found" | "overloaded" | "failed" | "cut";
                /**
                 * @description Only completions whose `duration_ms` is at least this.
                 * @example 2000
                 */
                min_duration_ms?: string;
                /**
                 * @description Only completions whose `duration_ms` is at most this.
                 * @example 2000
                 */
                max_duration_ms?: string;
                /**
                 * @description Only completions whose `cost_usd` is at least this.
                 * @example 0.25
                 */
                min_cost_usd?: string;
                /**
                 * @description Only completions whose `cost_usd` is at most this.
                 * @example 0.25
                 */
                max_cost_usd?: string;
                /** @description Only requests with this tag, as `key=value`. */
                tag?: string;
                /** @description Only requests of this session. */
                session_id?: string;
                /** @description Only requests of this end user: the hash, or the name that the client sends. */
                end_user?: string;
                /** @description Lines: 1 to 10000, by default 1000. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
                format?: "jsonl" | "messages";
            };
        };
        responses: {
            /** @description The lines. */
            200: {
                headers: {
                    /** @description `cursor` of the next page. Absent: there is none. */
                    "x-next-cursor"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/jsonl": string;
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteUsageContent: {
        parameters: {
            query?: {
                /** @description Only of this API key, device or signed-in person. */
                key_id?: string;
                /** @description Only of this person: signed in, by a device, or by the API keys that they created. */
                user_id?: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        object: "content_deletion";
                        deleted: number;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getBilling: {
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        object: "billing";
                        /** @description Whether credit can be purchased. */
                        payments_enabled: boolean;
                        /** @description Saved for automatic recharge. Null: none. */
                        payment_method: {
                            brand: string;
                            last4: string;
                        } | null;
                        /** @description Null: off. */
                        auto_recharge: {
                            /** @description USD, at most 9 decimals. A balance below it is recharged. */
                            below_usd: number;
                            /** @description USD, at most 9 decimals. Charged and added. */
                            add_usd: number;
                            /** @description USD, at most 9 decimals. Most that is charged in a calendar month (UTC). */
                            monthly_limit_usd: number;
                            /** @description Why the last recharge failed; nothing is charged until the settings are sent again. */
                            error: string | null;
                        } | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchBilling: {
        requestBody: {
            content: {
                "application/json": {
                    auto_recharge: {
                        /** @description USD: a balance below it is recharged. */
                        below_usd: number;
                        /** @description USD, in whole cents. Charged and added. */
                        add_usd: number;
                        /** @description USD, in whole cents. Most that is charged in a calendar month (UTC). */
                        monthly_limit_usd: number;
                    } | null;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        object: "billing";
                        /** @description Whether credit can be purchased. */
                        payments_enabled: boolean;
                        /** @description Saved for automatic recharge. Null: none. */
                        payment_method: {
                            brand: string;
                            last4: string;
                        } | null;
                        /** @description Null: off. */
                        auto_recharge: {
                            /** @description USD, at most 9 decimals. A balance below it is recharged. */
                            below_usd: number;
                            /** @description USD, at most 9 decimals. Charged and added. */
                            add_usd: number;
                            /** @description USD, at most 9 decimals. Most that is charged in a calendar month (UTC). */
                            monthly_limit_usd: number;
                            /** @description Why the last recharge failed; nothing is charged until the settings are sent again. */
                            error: string | null;
                        } | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postBillingTopUps: {
        requestBody: {
            content: {
                "application/json": {
                    /** @description USD, in whole cents. Amount. */
                    usd: number;
                    /**
                     * @description For automatic recharge.
                     * @default false
                     */
                    save_payment_method?: boolean;
                };
            };
        };
        responses: {
            /** @description Success. */
            201: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "payment";
                        /**
                         * @description recharge: charged automatically.
                         * @enum {string}
                         */
                        kind: "top_up" | "recharge";
                        /**
                         * @description succeeded: its credit is in the ledger.
                         * @enum {string}
                         */
                        status: "pending" | "succeeded" | "failed";
                        /** @description USD, at most 9 decimals. Amount. */
                        amount_usd: number;
                        /** @description Why it failed. */
                        error: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description ISO 8601 UTC. Null: pending. */
                        ended_at: string | null;
                        /** @description Page of the payment. */
                        url: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getBillingPayments: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "payment";
                            /**
                             * @description recharge: charged automatically.
                             * @enum {string}
                             */
                            kind: "top_up" | "recharge";
                            /**
                             * @description succeeded: its credit is in the ledger.
                             * @enum {string}
                             */
                            status: "pending" | "succeeded" | "failed";
                            /** @description USD, at most 9 decimals. Amount. */
                            amount_usd: number;
                            /** @description Why it failed. */
                            error: string | null;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                            /** @description ISO 8601 UTC. Null: pending. */
                            ended_at: string | null;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteBillingPaymentMethod: {
        responses: {
            /** @description Success. */
            204: {
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAdminProviders: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By name. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            /** @description Name. */
                            id: string;
                            /** @enum {string} */
                            object: "provider";
                            /** @description Name in the configuration. */
                            name: string;
                            /** @description Without user, password and query. */
                            base_url: string;
                            /**
                             * @description By the calls of all processes, as `last_24h`. down: the provider refused the credential of the last call and has answered none since, or at least five calls failed since the last hour in which one did not. degraded: more than 5 % of the calls failed. healthy: none of these. disabled: it is not called. Breakers and cooldowns are of the responding process and change nothing.
                             * @enum {string}
                             */
                            status: "healthy" | "degraded" | "down" | "disabled";
                            /**
                             * @description configuration: the configuration file or the environment, which have precedence. database: stored by an operator.
                             * @enum {string}
                             */
                            source: "configuration" | "database" | "built_in";
                            /** @description Reason of the last failure, if no call was answered since. Null: none. */
                            problem: string | null;
                            /** @description Calls of all processes in the current hour and the 23 before it, except those with credentials of accounts. */
                            last_24h: {
                                /** @description Number of calls. */
                                calls: number;
                                /** @description Number of calls that failed because of the provider or its credential: 401, 403, 404, 429, 5xx, no response. */
                                failures: number;
                                /** @description Time of the last answered call, ISO 8601 UTC. Null: none. */
                                last_answer_at: string | null;
                                /** @description The last failed call. Null: none. */
                                last_failure: {
                                    /** @description ISO 8601 UTC. */
                                    at: string;
                                    /** @description Name of the model at the provider. */
                                    model: string;
                                    /** @description HTTP status of the provider. Null: no response. */
                                    status: number | null;
                                    /** @description Reason in words, such as `Key refused (401)` or `Rate limited (429)`. */
                                    reason: string;
                                } | null;
                                /** @description Hours with calls, the oldest first. */
                                hours: {
                                    /** @description Start of the hour, ISO 8601 UTC. */
                                    at: string;
                                    /** @description Number of calls. */
                                    calls: number;
                                    /** @description Number of failed calls. */
                                    failures: number;
                                }[];
                            };
                            /** @description Maximum number of concurrent calls from one process. Null: no limit. */
                            max_in_flight: number | null;
                            /** @description Number of requests in flight. */
                            in_flight: number;
                            /** @description Number of queued requests. */
                            queued: number;
                            credentials: {
                                /** @description Position in the configuration, from 1. */
                                number: number;
                                /** @description Number of calls in flight with this credential. */
                                in_flight: number;
                                /** @description Models for which the credential is in cooldown, because the provider limited or rejected it. */
                                cooling: {
                                    /** @description Name of the model at the provider; `*`: every model. */
                                    model: string;
                                    /** @description ISO 8601 UTC. */
                                    until: string;
                                }[];
                            }[];
                            /** @description Estimated cost, since this process started, of calls that ended before their first event. No client is charged for them. */
                            cost_unbilled_usd: number;
                            /** @description Models that this process has called since it started. */
                            deployments: {
                                /** @description Name of the model at the provider. */
                                model: string;
                                /**
                                 * @description closed: called as usual. open: failed too often, and not called until `open_until` unless all candidates are open. half_open: one request probes it.
                                 * @enum {string}
                                 */
                                breaker: "closed" | "open" | "half_open";
                                /** @description ISO 8601 UTC. Null: the breaker is not open. */
                                open_until: string | null;
                                /** @description Number of consecutive failures. */
                                failures: number;
                                /** @description Number of calls in flight. */
                                in_flight: number;
                                /** @description Smoothed time to the first event of streams. Null: no stream yet. */
                                first_event_ms: number | null;
                                /** @description Smoothed time to the end of answers without streaming. Null: none yet. */
                                whole_answer_ms: number | null;
                                /** @description Number of calls since this process started. */
                                calls: number;
                                /** @description Number of calls that failed because of the provider. */
                                failed_calls: number;
                                /** @description Last error. Null: none since this process started. */
                                last_failure: {
                                    /** @description ISO 8601 UTC. */
                                    at: string;
                                    /** @description Error message. */
                                    message: string;
                                } | null;
                            }[];
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAdminProviderKinds: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By name. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            /** @description Name of a provider in the configuration. */
                            id: string;
                            /** @enum {string} */
                            object: "provider_kind";
                            /** @description Name of the provider. */
                            name: string;
                            /** @description Address of its API. Null: `base_url` is required. */
                            base_url: string | null;
                            /** @description Environment variable of its key. Null: it has none. */
                            key_variable: string | null;
                            /** @description Further settings that it knows, such as `region`. */
                            settings: string[];
                            /** @description Number of models in the catalogue, with prices. */
                            models: number;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAdminPriceEnds: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By name. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            /** @description ID of the model. */
                            id: string;
                            /** @enum {string} */
                            object: "price_end";
                            /** @description Same as `id`. */
                            model: string;
                            /** @description Time from which the model has no price, ISO 8601 UTC. */
                            ends_at: string;
                            /** @description Whether the price has expired, so that the model returns 503 `model_not_priced`. */
                            ended: boolean;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postAdminProvidersByNameTest: {
        parameters: {
            path: {
                /** @description Name in the configuration. */
                name: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @description Whether the provider responded without rejecting the key, limiting requests or failing. */
                        ok: boolean;
                        /** @description From the call to the response headers, in milliseconds. */
                        duration_ms: number;
                        /** @description HTTP status. Null: no response. */
                        status: number | null;
                        /** @description Result as a sentence. It never contains the key or text of the provider. */
                        message: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAdminConfig: {
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        object: "config";
                        /** @description Path of the configuration file. Null: none was read. */
                        file: string | null;
                        settings: {
                            /** @description Such as server.port. */
                            path: string;
                            /** @description (secret) for secrets. */
                            value: unknown;
                            /** @description Position in the file, variable or flag; default; database. */
                            origin: string;
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAdminModels: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By name. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            /** @description ID of the model, or name of the provider. */
                            id: string;
                            /** @enum {string} */
                            object: "model_setting" | "provider_setting";
                            /** @description From 1, of this name. */
                            version: number;
                            /** @description False: it takes effect later, or the configuration file or environment has precedence. */
                            in_force: boolean;
                            /**
                             * @description configuration: the file or the environment has an entry of this name. Null: nothing.
                             * @enum {string|null}
                             */
                            overridden_by: "configuration" | null;
                            /** @description ISO 8601 UTC. */
                            effective_from: string;
                            /** @description Without keys of providers. Null: removed. */
                            settings: {
                                [key: string]: unknown;
                            } | null;
                            /** @description Keys of the provider, which are never shown. */
                            api_keys: {
                                /** @description Empty for keys of less than 16 characters. */
                                last4: string;
                            }[];
                            /** @description ID of the credential. */
                            created_by: string | null;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAdminModelsById: {
        parameters: {
            path: {
                /** @description ID of the model, percent-encoded. */
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @description ID of the model, or name of the provider. */
                        id: string;
                        /** @enum {string} */
                        object: "model_setting" | "provider_setting";
                        /** @description From 1, of this name. */
                        version: number;
                        /** @description False: it takes effect later, or the configuration file or environment has precedence. */
                        in_force: boolean;
                        /**
                         * @description configuration: the file or the environment has an entry of this name. Null: nothing.
                         * @enum {string|null}
                         */
                        overridden_by: "configuration" | null;
                        /** @description ISO 8601 UTC. */
                        effective_from: string;
                        /** @description Without keys of providers. Null: removed. */
                        settings: {
                            [key: string]: unknown;
                        } | null;
                        /** @description Keys of the provider, which are never shown. */
                        api_keys: {
                            /** @description Empty for keys of less than 16 characters. */
                            last4: string;
                        }[];
                        /** @description ID of the credential. */
                        created_by: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    putAdminModelsById: {
        parameters: {
            path: {
                /** @description ID of the model, percent-encoded. */
                id: string;
            };
        };
        /** @description One model: added to the built-in catalogue, or overriding one of the catalogue's. */
        requestBody: {
            content: {
                "application/json": {
                    name?: string | null;
                    owned_by?: string | null;
                    aliases?: string[] | null;
                    kind?: ("chat" | "embedding" | "rerank") | null;
                    capabilities?: {
                        streaming?: boolean | null;
                        function_calling?: boolean | null;
                        vision?: boolean | null;
                        json_mode?: boolean | null;
                        pdf?: boolean | null;
                        json_schema?: boolean | null;
                    } | null;
                    context_window?: number | null;
                    max_inputs?: number | null;
                    max_output_tokens?: (number | null) | null;
                    pricing?: ({
                        /** @description USD per million prompt tokens. */
                        input_per_million: number;
                        /** @description USD per million completion tokens. */
                        output_per_million: number;
                        cached_input_per_million?: number | null;
                        cache_write_per_million?: number | null;
                        cache_write_1h_per_million?: number | null;
                        cache_write_12h_per_million?: number | null;
                        audio_input_per_million?: number | null;
                        cached_audio_input_per_million?: number | null;
                        audio_output_per_million?: number | null;
                        image_output_per_million?: number | null;
                        reasoning_output_per_million?: number | null;
                        tiers?: {
                            /** @description What the prompt of one call, cached tokens included, has to exceed. */
                            above_prompt_tokens: number;
                            /**
                             * @description What it prices: the whole request, or the prompt's tokens above the threshold and the output.
                             * @enum {unknown}
                             */
                            applies_to?: "request" | "excess";
                            input_per_million?: number | null;
                            output_per_million?: number | null;
                            cached_input_per_million?: number | null;
                            cache_write_per_million?: number | null;
                            cache_write_1h_per_million?: number | null;
                            cache_write_12h_per_million?: number | null;
                            audio_input_per_million?: number | null;
                            cached_audio_input_per_million?: number | null;
                            audio_output_per_million?: number | null;
                            image_output_per_million?: number | null;
                            reasoning_output_per_million?: number | null;
                        }[] | null;
                        service_tiers?: {
                            [key: string]: {
                                input_per_million?: number | null;
                                output_per_million?: number | null;
                                cached_input_per_million?: number | null;
                                cache_write_per_million?: number | null;
                                cache_write_1h_per_million?: number | null;
                                cache_write_12h_per_million?: number | null;
                                audio_input_per_million?: number | null;
                                cached_audio_input_per_million?: number | null;
                                audio_output_per_million?: number | null;
                                image_output_per_million?: number | null;
                                reasoning_output_per_million?: number | null;
                                tiers?: {
                                    /** @description What the prompt of one call, cached tokens included, has to exceed. */
                                    above_prompt_tokens: number;
                                    /**
                                     * @description What it prices: the whole request, or the prompt's tokens above the threshold and the output.
                                     * @enum {unknown}
                                     */
                                    applies_to?: "request" | "excess";
                                    input_per_million?: number | null;
                                    output_per_million?: number | null;
                                    cached_input_per_million?: number | null;
                                    cache_write_per_million?: number | null;
                                    cache_write_1h_per_million?: number | null;
                                    cache_write_12h_per_million?: number | null;
                                    audio_input_per_million?: number | null;
                                    cached_audio_input_per_million?: number | null;
                                    audio_output_per_million?: number | null;
                                    image_output_per_million?: number | null;
                                    reasoning_output_per_million?: number | null;
                                }[] | null;
                            };
                        } | null;
                        discounts?: {
                            /** @description Time of day (UTC). */
                            from: string;
                            /** @description Time of day (UTC), not included; before `from`: of the next day. */
                            until: string;
                            input_per_million?: number | null;
                            output_per_million?: number | null;
                            cached_input_per_million?: number | null;
                            cache_write_per_million?: number | null;
                            cache_write_1h_per_million?: number | null;
                            cache_write_12h_per_million?: number | null;
                            audio_input_per_million?: number | null;
                            cached_audio_input_per_million?: number | null;
                            audio_output_per_million?: number | null;
                            image_output_per_million?: number | null;
                            reasoning_output_per_million?: number | null;
                        }[] | null;
                        per_request_usd?: number | null;
                        per_image_usd?: number | null;
                        server_tools?: {
                            [key: string]: number;
                        } | null;
                        starts?: string | null;
                        ends?: string | null;
                        successors?: {
                            /** @description USD per million prompt tokens. */
                            input_per_million: number;
                            /** @description USD per million completion tokens. */
                            output_per_million: number;
                            cached_input_per_million?: number | null;
                            cache_write_per_million?: number | null;
                            cache_write_1h_per_million?: number | null;
                            cache_write_12h_per_million?: number | null;
                            audio_input_per_million?: number | null;
                            cached_audio_input_per_million?: number | null;
                            audio_output_per_million?: number | null;
                            image_output_per_million?: number | null;
                            reasoning_output_per_million?: number | null;
                            tiers?: {
                                /** @description What the prompt of one call, cached tokens included, has to exceed. */
                                above_prompt_tokens: number;
                                /**
                                 * @description What it prices: the whole request, or the prompt's tokens above the threshold and the output.
                                 * @enum {unknown}
                                 */
                                applies_to?: "request" | "excess";
                                input_per_million?: number | null;
                                output_per_million?: number | null;
                                cached_input_per_million?: number | null;
                                cache_write_per_million?: number | null;
                                cache_write_1h_per_million?: number | null;
                                cache_write_12h_per_million?: number | null;
                                audio_input_per_million?: number | null;
                                cached_audio_input_per_million?: number | null;
                                audio_output_per_million?: number | null;
                                image_output_per_million?: number | null;
                                reasoning_output_per_million?: number | null;
                            }[] | null;
                            service_tiers?: {
                                [key: string]: {
                                    input_per_million?: number | null;
                                    output_per_million?: number | null;
                                    cached_input_per_million?: number | null;
                                    cache_write_per_million?: number | null;
                                    cache_write_1h_per_million?: number | null;
                                    cache_write_12h_per_million?: number | null;
                                    audio_input_per_million?: number | null;
                                    cached_audio_input_per_million?: number | null;
                                    audio_output_per_million?: number | null;
                                    image_output_per_million?: number | null;
                                    reasoning_output_per_million?: number | null;
                                    tiers?: {
                                        /** @description What the prompt of one call, cached tokens included, has to exceed. */
                                        above_prompt_tokens: number;
                                        /**
                                         * @description What it prices: the whole request, or the prompt's tokens above the threshold and the output.
                                         * @enum {unknown}
                                         */
                                        applies_to?: "request" | "excess";
                                        input_per_million?: number | null;
                                        output_per_million?: number | null;
                                        cached_input_per_million?: number | null;
                                        cache_write_per_million?: number | null;
                                        cache_write_1h_per_million?: number | null;
                                        cache_write_12h_per_million?: number | null;
                                        audio_input_per_million?: number | null;
                                        cached_audio_input_per_million?: number | null;
                                        audio_output_per_million?: number | null;
                                        image_output_per_million?: number | null;
                                        reasoning_output_per_million?: number | null;
                                    }[] | null;
                                };
                            } | null;
                            discounts?: {
                                /** @description Time of day (UTC). */
                                from: string;
                                /** @description Time of day (UTC), not included; before `from`: of the next day. */
                                until: string;
                                input_per_million?: number | null;
                                output_per_million?: number | null;
                                cached_input_per_million?: number | null;
                                cache_write_per_million?: number | null;
                                cache_write_1h_per_million?: number | null;
                                cache_write_12h_per_million?: number | null;
                                audio_input_per_million?: number | null;
                                cached_audio_input_per_million?: number | null;
                                audio_output_per_million?: number | null;
                                image_output_per_million?: number | null;
                                reasoning_output_per_million?: number | null;
                            }[] | null;
                            per_request_usd?: number | null;
                            per_image_usd?: number | null;
                            server_tools?: {
                                [key: string]: number;
                            } | null;
                            starts?: string | null;
                            ends?: string | null;
                        }[] | null;
                    } | null) | null;
                    deprecation_date?: string | null;
                    replacement?: string | null;
                    fallbacks?: string[] | null;
                    deployments?: {
                        /** @description Name of a provider, configured or built in. */
                        provider: string;
                        /** @description The provider's own name of the model. */
                        model: string;
                        /** @description Lowest is tried first. */
                        priority?: number;
                        /** @description Share of calls among deployments of the same priority. */
                        weight?: number;
                        data_collection?: ("allow" | "deny") | null;
                        zdr?: boolean | null;
                        region?: string | null;
                        protocol?: ("openai-responses" | "openai-auto") | null;
                    }[] | null;
                    /**
                     * Format: date-time
                     * @description When the change takes effect (UTC). Not set: at once.
                     */
                    effective_from?: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @description ID of the model, or name of the provider. */
                        id: string;
                        /** @enum {string} */
                        object: "model_setting" | "provider_setting";
                        /** @description From 1, of this name. */
                        version: number;
                        /** @description False: it takes effect later, or the configuration file or environment has precedence. */
                        in_force: boolean;
                        /**
                         * @description configuration: the file or the environment has an entry of this name. Null: nothing.
                         * @enum {string|null}
                         */
                        overridden_by: "configuration" | null;
                        /** @description ISO 8601 UTC. */
                        effective_from: string;
                        /** @description Without keys of providers. Null: removed. */
                        settings: {
                            [key: string]: unknown;
                        } | null;
                        /** @description Keys of the provider, which are never shown. */
                        api_keys: {
                            /** @description Empty for keys of less than 16 characters. */
                            last4: string;
                        }[];
                        /** @description ID of the credential. */
                        created_by: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteAdminModelsById: {
        parameters: {
            path: {
                /** @description ID of the model, percent-encoded. */
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            204: {
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAdminModelsByIdVersions: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
            path: {
                /** @description ID of the model, percent-encoded. */
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            /** @description ID of the model, or name of the provider. */
                            id: string;
                            /** @enum {string} */
                            object: "model_setting" | "provider_setting";
                            /** @description From 1, of this name. */
                            version: number;
                            /** @description False: it takes effect later, or the configuration file or environment has precedence. */
                            in_force: boolean;
                            /**
                             * @description configuration: the file or the environment has an entry of this name. Null: nothing.
                             * @enum {string|null}
                             */
                            overridden_by: "configuration" | null;
                            /** @description ISO 8601 UTC. */
                            effective_from: string;
                            /** @description Without keys of providers. Null: removed. */
                            settings: {
                                [key: string]: unknown;
                            } | null;
                            /** @description Keys of the provider, which are never shown. */
                            api_keys: {
                                /** @description Empty for keys of less than 16 characters. */
                                last4: string;
                            }[];
                            /** @description ID of the credential. */
                            created_by: string | null;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAdminProvidersByName: {
        parameters: {
            path: {
                /** @description Name of the provider. */
                name: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @description ID of the model, or name of the provider. */
                        id: string;
                        /** @enum {string} */
                        object: "model_setting" | "provider_setting";
                        /** @description From 1, of this name. */
                        version: number;
                        /** @description False: it takes effect later, or the configuration file or environment has precedence. */
                        in_force: boolean;
                        /**
                         * @description configuration: the file or the environment has an entry of this name. Null: nothing.
                         * @enum {string|null}
                         */
                        overridden_by: "configuration" | null;
                        /** @description ISO 8601 UTC. */
                        effective_from: string;
                        /** @description Without keys of providers. Null: removed. */
                        settings: {
                            [key: string]: unknown;
                        } | null;
                        /** @description Keys of the provider, which are never shown. */
                        api_keys: {
                            /** @description Empty for keys of less than 16 characters. */
                            last4: string;
                        }[];
                        /** @description ID of the credential. */
                        created_by: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    putAdminProvidersByName: {
        parameters: {
            path: {
                /** @description Name of the provider. */
                name: string;
            };
        };
        /** @description One provider; `{}` is enough for a built-in one. */
        requestBody: {
            content: {
                "application/json": {
                    kind?: string | null;
                    protocol?: ("openai" | "openai-responses" | "anthropic" | "gemini" | "bedrock" | "simulator") | null;
                    base_url?: string | null;
                    api_key?: string | null;
                    api_keys?: string[] | null;
                    region?: string | null;
                    project?: string | null;
                    api_version?: string | null;
                    credentials_file?: string | null;
                    /** @description Time-outs of calls, in milliseconds. */
                    timeout_ms?: {
                        /** @description Longest wait for a connection. */
                        connect?: number;
                        first_byte?: number | null;
                        /** @description Longest wait between two events of a stream. */
                        idle?: number;
                        /** @description Longest duration of the whole call. */
                        total?: number;
                    };
                    max_in_flight?: number | null;
                    weight?: number | null;
                    disabled?: boolean | null;
                    data_collection?: ("allow" | "deny") | null;
                    zdr?: boolean | null;
                    forward_unknown?: boolean | null;
                    on_disconnect?: ("cancel" | "drain") | null;
                    /**
                     * Format: date-time
                     * @description When the change takes effect (UTC). Not set: at once.
                     */
                    effective_from?: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @description ID of the model, or name of the provider. */
                        id: string;
                        /** @enum {string} */
                        object: "model_setting" | "provider_setting";
                        /** @description From 1, of this name. */
                        version: number;
                        /** @description False: it takes effect later, or the configuration file or environment has precedence. */
                        in_force: boolean;
                        /**
                         * @description configuration: the file or the environment has an entry of this name. Null: nothing.
                         * @enum {string|null}
                         */
                        overridden_by: "configuration" | null;
                        /** @description ISO 8601 UTC. */
                        effective_from: string;
                        /** @description Without keys of providers. Null: removed. */
                        settings: {
                            [key: string]: unknown;
                        } | null;
                        /** @description Keys of the provider, which are never shown. */
                        api_keys: {
                            /** @description Empty for keys of less than 16 characters. */
                            last4: string;
                        }[];
                        /** @description ID of the credential. */
                        created_by: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteAdminProvidersByName: {
        parameters: {
            path: {
                /** @description Name of the provider. */
                name: string;
            };
        };
        responses: {
            /** @description Success. */
            204: {
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAdminProvidersByNameVersions: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
            path: {
                /** @description Name of the provider. */
                name: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            /** @description ID of the model, or name of the provider. */
                            id: string;
                            /** @enum {string} */
                            object: "model_setting" | "provider_setting";
                            /** @description From 1, of this name. */
                            version: number;
                            /** @description False: it takes effect later, or the configuration file or environment has precedence. */
                            in_force: boolean;
                            /**
                             * @description configuration: the file or the environment has an entry of this name. Null: nothing.
                             * @enum {string|null}
                             */
                            overridden_by: "configuration" | null;
                            /** @description ISO 8601 UTC. */
                            effective_from: string;
                            /** @description Without keys of providers. Null: removed. */
                            settings: {
                                [key: string]: unknown;
                            } | null;
                            /** @description Keys of the provider, which are never shown. */
                            api_keys: {
                                /** @description Empty for keys of less than 16 characters. */
                                last4: string;
                            }[];
                            /** @description ID of the credential. */
                            created_by: string | null;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAdminInstances: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "instance";
                            version: string;
                            role: string;
                            /** @description Address of the process. */
                            address: string | null;
                            /** @description ISO 8601 UTC, by the database’s clock. */
                            started_at: string;
                            /** @description Time of the last report. Processes report every 5 s. */
                            seen_at: string;
                            /** @description CPU time of the last minute; 1 is one processor. Null: not reported yet. */
                            load: number | null;
                            /** @description 99th percentile of the event loop delay. */
                            lag_ms: number | null;
                            /** @description Number of completions in flight. */
                            active_requests: number | null;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAdminAgents: {
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        object: "agents_state";
                        /**
                         * @description Sandbox of agents’ commands. none: commands have all rights of the service.
                         * @enum {string}
                         */
                        backend: "bubblewrap" | "none";
                        /** @description Whether this process accepts runs. Null: it does no background work. */
                        available: boolean | null;
                        /** @description Reason why it accepts no runs, and how to fix it. Null: no problem. */
                        reason: string | null;
                        /** @description Number of runs in this process. */
                        running: number;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getMe: {
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        object: "me";
                        credential: {
                            /** @enum {string} */
                            kind: "key" | "token" | "session";
                            id: string;
                            /** @description All rights of the credential. */
                            scopes: string[];
                            /** @description ISO 8601. Null: it does not expire. */
                            expires_at: string | null;
                        };
                        account: {
                            id: string;
                            name: string;
                            plan: string;
                        };
                        user: {
                            id: string;
                            email: string;
                            name: string;
                        } | null;
                        role: string | null;
                        /** @description Same as `credential.scopes`, including `operator`. */
                        rights: string[];
                        /** @description Accounts that the person can switch to. A key or token has only its own account. */
                        accounts: {
                            id: string;
                            name: string;
                            /** @description Null: the credential is a key. */
                            role: string | null;
                        }[];
                        /** @description Version of the gateway. */
                        version: string;
                        /** @description Newer release, by the published catalogue that was pulled. Null: none is known, or the caller is not an operator. */
                        newer_release: string | null;
                        /** @description How the command line is called where the gateway is installed, such as `npx turnpike`. */
                        command_line: string;
                        /** @description Whether people can sign in with an identity provider, and can therefore be invited. */
                        identity_providers: boolean;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getSessions: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "session";
                            /** @description IP address at sign-in. */
                            address: string | null;
                            /** @description User agent at sign-in. */
                            user_agent: string | null;
                            created_at: string;
                            /** @description Time of the last renewal, ISO 8601. */
                            last_used_at: string;
                            /** @description Time at which the session ends unless it is renewed, ISO 8601. */
                            expires_at: string;
                            /** @description Whether this is the session of the request. */
                            current: boolean;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteSessionsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            204: {
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getMembers: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            /** @description ID of the user. */
                            id: string;
                            /** @enum {string} */
                            object: "member";
                            email: string;
                            name: string;
                            /** @enum {string} */
                            role: "owner" | "admin" | "developer" | "billing";
                            /** @description Time of joining, ISO 8601. */
                            created_at: string;
                            /** @description Limits on what their sessions, devices and the keys that they created spend together. */
                            budgets: {
                                id: string;
                                /** @enum {string} */
                                object: "budget";
                                /** @enum {string} */
                                level: "account" | "team" | "member" | "key" | "tag";
                                /** @description ID of the account, team, user or key; of a tag `key=value`. */
                                subject: string;
                                /** @description USD, at most 9 decimals. The limit without raises. */
                                usd: number;
                                /** @enum {string} */
                                window: "day" | "week" | "month" | "quarter" | "total";
                                /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                                starts: string | null;
                                timezone: string;
                                /** @enum {string} */
                                action: "block" | "warn";
                                /** @description USD, at most 9 decimals. The limit with the raises in force. */
                                limit_usd: number;
                                /** @description USD, at most 9 decimals. Charged in the current window. */
                                spent_usd: number;
                                /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                                held_usd: number;
                                /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                                remaining_usd: number;
                                /** @description Start of the current window, ISO 8601. */
                                window_start: string;
                                /** @description End of the current window, ISO 8601. Null: it never resets. */
                                resets_at: string | null;
                                /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                                forecast_exhausted_at: string | null;
                                /** @description Raises in force. */
                                raises: {
                                    id: string;
                                    /** @description USD, at most 9 decimals. Added to the limit. */
                                    usd: number;
                                    reason: string;
                                    created_at: string;
                                    ends_at: string;
                                }[];
                            }[];
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteMembersById: {
        parameters: {
            query?: {
                /** @description `true` also deletes the prompts and answers that were captured of their requests, those of the API keys that they created included. Requires the right `content`. */
                erase_content?: "true" | "false";
            };
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            204: {
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchMembersById: {
        parameters: {
            path: {
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    role?: "owner" | "admin" | "developer" | "billing";
                    /** @description Replaces all budgets. Those with the same window, time zone and start keep what is spent. */
                    budgets?: {
                        /** @description USD, at most 9 decimals. */
                        usd: number;
                        /**
                         * @description total: it never resets.
                         * @enum {string}
                         */
                        window: "day" | "week" | "month" | "quarter" | "total";
                        /**
                         * @description Start of the first window, from which the others are counted: a date in the time zone, or an ISO 8601 time. Null: windows of the calendar.
                         * @example 2030-01-01
                         */
                        starts?: string | null;
                        /** @description IANA name. Default: UTC. */
                        timezone?: string;
                        /**
                         * @description block (default): rejects requests beyond it with 402. warn: alerts only.
                         * @enum {string}
                         */
                        action?: "block" | "warn";
                    }[];
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @description ID of the user. */
                        id: string;
                        /** @enum {string} */
                        object: "member";
                        email: string;
                        name: string;
                        /** @enum {string} */
                        role: "owner" | "admin" | "developer" | "billing";
                        /** @description Time of joining, ISO 8601. */
                        created_at: string;
                        /** @description Limits on what their sessions, devices and the keys that they created spend together. */
                        budgets: {
                            id: string;
                            /** @enum {string} */
                            object: "budget";
                            /** @enum {string} */
                            level: "account" | "team" | "member" | "key" | "tag";
                            /** @description ID of the account, team, user or key; of a tag `key=value`. */
                            subject: string;
                            /** @description USD, at most 9 decimals. The limit without raises. */
                            usd: number;
                            /** @enum {string} */
                            window: "day" | "week" | "month" | "quarter" | "total";
                            /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                            starts: string | null;
                            timezone: string;
                            /** @enum {string} */
                            action: "block" | "warn";
                            /** @description USD, at most 9 decimals. The limit with the raises in force. */
                            limit_usd: number;
                            /** @description USD, at most 9 decimals. Charged in the current window. */
                            spent_usd: number;
                            /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                            held_usd: number;
                            /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                            remaining_usd: number;
                            /** @description Start of the current window, ISO 8601. */
                            window_start: string;
                            /** @description End of the current window, ISO 8601. Null: it never resets. */
                            resets_at: string | null;
                            /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                            forecast_exhausted_at: string | null;
                            /** @description Raises in force. */
                            raises: {
                                id: string;
                                /** @description USD, at most 9 decimals. Added to the limit. */
                                usd: number;
                                reason: string;
                                created_at: string;
                                ends_at: string;
                            }[];
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getInvitations: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "invitation";
                            /** @enum {string} */
                            role: "owner" | "admin" | "developer" | "billing";
                            /** @description The intended person. */
                            email: string | null;
                            /** @description The user who created it, or who created the key in `key_id`. Null: none. */
                            created_by: string | null;
                            /** @description The API key that created it. The link is valid only while this key could create it. Null: a person created it. */
                            key_id: string | null;
                            created_at: string;
                            expires_at: string;
                            /** @description ISO 8601. */
                            used_at: string | null;
                            /** @description The user who joined with it. */
                            used_by: string | null;
                            /** @description ISO 8601. */
                            revoked_at: string | null;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postInvitations: {
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    role: "owner" | "admin" | "developer" | "billing";
                    /** @description The intended person, as a note. No mail is sent, and anybody with the link can use it. */
                    email?: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            201: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "invitation";
                        /** @enum {string} */
                        role: "owner" | "admin" | "developer" | "billing";
                        /** @description The intended person. */
                        email: string | null;
                        /** @description The user who created it, or who created the key in `key_id`. Null: none. */
                        created_by: string | null;
                        /** @description The API key that created it. The link is valid only while this key could create it. Null: a person created it. */
                        key_id: string | null;
                        created_at: string;
                        expires_at: string;
                        /** @description ISO 8601. */
                        used_at: string | null;
                        /** @description The user who joined with it. */
                        used_by: string | null;
                        /** @description ISO 8601. */
                        revoked_at: string | null;
                        /** @description The link, returned only this once. It is valid for 7 days and one person. */
                        url: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteInvitationsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            204: {
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getTeams: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
                status?: "active" | "archived" | "all";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "team";
                            name: string;
                            /** @description Empty: all. */
                            models: string[];
                            /** @description Empty: all. */
                            endpoints: ("chat" | "responses" | "messages" | "completions" | "embeddings" | "rerank" | "agents")[];
                            /** @description Null: no limit. */
                            requests_per_minute: number | null;
                            /** @description What deployments that answer requests of the team must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                            data_policy: {
                                /**
                                 * @description deny: only deployments that do not keep data to train on.
                                 * @enum {string}
                                 */
                                data_collection?: "allow" | "deny";
                                /** @description true: only deployments with zero data retention. */
                                zdr?: boolean;
                                /** @description Only deployments in one of these regions. */
                                regions?: string[];
                            } | null;
                            /** @description Tags of its requests, unless they say otherwise. */
                            tags: {
                                [key: string]: string;
                            };
                            /** @description Keys of tags that its requests must have. */
                            require_tags: string[];
                            created_at: string;
                            /** @description ISO 8601. Null: it is active. */
                            archived_at: string | null;
                            /** @description Limits on what its requests spend together. */
                            budgets: {
                                id: string;
                                /** @enum {string} */
                                object: "budget";
                                /** @enum {string} */
                                level: "account" | "team" | "member" | "key" | "tag";
                                /** @description ID of the account, team, user or key; of a tag `key=value`. */
                                subject: string;
                                /** @description USD, at most 9 decimals. The limit without raises. */
                                usd: number;
                                /** @enum {string} */
                                window: "day" | "week" | "month" | "quarter" | "total";
                                /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                                starts: string | null;
                                timezone: string;
                                /** @enum {string} */
                                action: "block" | "warn";
                                /** @description USD, at most 9 decimals. The limit with the raises in force. */
                                limit_usd: number;
                                /** @description USD, at most 9 decimals. Charged in the current window. */
                                spent_usd: number;
                                /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                                held_usd: number;
                                /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                                remaining_usd: number;
                                /** @description Start of the current window, ISO 8601. */
                                window_start: string;
                                /** @description End of the current window, ISO 8601. Null: it never resets. */
                                resets_at: string | null;
                                /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                                forecast_exhausted_at: string | null;
                                /** @description Raises in force. */
                                raises: {
                                    id: string;
                                    /** @description USD, at most 9 decimals. Added to the limit. */
                                    usd: number;
                                    reason: string;
                                    created_at: string;
                                    ends_at: string;
                                }[];
                            }[];
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postTeams: {
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    /** @description Empty: all models. */
                    models?: string[];
                    /** @description Endpoints that its keys may call. Empty: all. */
                    endpoints?: ("chat" | "responses" | "messages" | "completions" | "embeddings" | "rerank" | "agents")[];
                    /** @description Of all its requests together. Null: no limit. */
                    requests_per_minute?: number | null;
                    /** @description What deployments that answer requests of the team must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                    data_policy?: {
                        /**
                         * @description deny: only deployments that do not keep data to train on.
                         * @enum {string}
                         */
                        data_collection?: "allow" | "deny";
                        /** @description true: only deployments with zero data retention. */
                        zdr?: boolean;
                        /** @description Only deployments in one of these regions. */
                        regions?: string[];
                    } | null;
                    /**
                     * @description Tags of its requests, unless they say otherwise. At most 10; see docs/chargeback.md.
                     * @example {
                     *       "team": "search"
                     *     }
                     */
                    tags?: {
                        [key: string]: string;
                    };
                    /**
                     * @description Keys of tags that its requests must have. Others get 400.
                     * @example [
                     *       "customer"
                     *     ]
                     */
                    require_tags?: string[];
                    /** @description Replaces all budgets. Those with the same window, time zone and start keep what is spent. */
                    budgets?: {
                        /** @description USD, at most 9 decimals. */
                        usd: number;
                        /**
                         * @description total: it never resets.
                         * @enum {string}
                         */
                        window: "day" | "week" | "month" | "quarter" | "total";
                        /**
                         * @description Start of the first window, from which the others are counted: a date in the time zone, or an ISO 8601 time. Null: windows of the calendar.
                         * @example 2030-01-01
                         */
                        starts?: string | null;
                        /** @description IANA name. Default: UTC. */
                        timezone?: string;
                        /**
                         * @description block (default): rejects requests beyond it with 402. warn: alerts only.
                         * @enum {string}
                         */
                        action?: "block" | "warn";
                    }[];
                };
            };
        };
        responses: {
            /** @description Success. */
            201: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "team";
                        name: string;
                        /** @description Empty: all. */
                        models: string[];
                        /** @description Empty: all. */
                        endpoints: ("chat" | "responses" | "messages" | "completions" | "embeddings" | "rerank" | "agents")[];
                        /** @description Null: no limit. */
                        requests_per_minute: number | null;
                        /** @description What deployments that answer requests of the team must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                        data_policy: {
                            /**
                             * @description deny: only deployments that do not keep data to train on.
                             * @enum {string}
                             */
                            data_collection?: "allow" | "deny";
                            /** @description true: only deployments with zero data retention. */
                            zdr?: boolean;
                            /** @description Only deployments in one of these regions. */
                            regions?: string[];
                        } | null;
                        /** @description Tags of its requests, unless they say otherwise. */
                        tags: {
                            [key: string]: string;
                        };
                        /** @description Keys of tags that its requests must have. */
                        require_tags: string[];
                        created_at: string;
                        /** @description ISO 8601. Null: it is active. */
                        archived_at: string | null;
                        /** @description Limits on what its requests spend together. */
                        budgets: {
                            id: string;
                            /** @enum {string} */
                            object: "budget";
                            /** @enum {string} */
                            level: "account" | "team" | "member" | "key" | "tag";
                            /** @description ID of the account, team, user or key; of a tag `key=value`. */
                            subject: string;
                            /** @description USD, at most 9 decimals. The limit without raises. */
                            usd: number;
                            /** @enum {string} */
                            window: "day" | "week" | "month" | "quarter" | "total";
                            /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                            starts: string | null;
                            timezone: string;
                            /** @enum {string} */
                            action: "block" | "warn";
                            /** @description USD, at most 9 decimals. The limit with the raises in force. */
                            limit_usd: number;
                            /** @description USD, at most 9 decimals. Charged in the current window. */
                            spent_usd: number;
                            /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                            held_usd: number;
                            /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                            remaining_usd: number;
                            /** @description Start of the current window, ISO 8601. */
                            window_start: string;
                            /** @description End of the current window, ISO 8601. Null: it never resets. */
                            resets_at: string | null;
                            /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                            forecast_exhausted_at: string | null;
                            /** @description Raises in force. */
                            raises: {
                                id: string;
                                /** @description USD, at most 9 decimals. Added to the limit. */
                                usd: number;
                                reason: string;
                                created_at: string;
                                ends_at: string;
                            }[];
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getTeamsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "team";
                        name: string;
                        /** @description Empty: all. */
                        models: string[];
                        /** @description Empty: all. */
                        endpoints: ("chat" | "responses" | "messages" | "completions" | "embeddings" | "rerank" | "agents")[];
                        /** @description Null: no limit. */
                        requests_per_minute: number | null;
                        /** @description What deployments that answer requests of the team must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                        data_policy: {
                            /**
                             * @description deny: only deployments that do not keep data to train on.
                             * @enum {string}
                             */
                            data_collection?: "allow" | "deny";
                            /** @description true: only deployments with zero data retention. */
                            zdr?: boolean;
                            /** @description Only deployments in one of these regions. */
                            regions?: string[];
                        } | null;
                        /** @description Tags of its requests, unless they say otherwise. */
                        tags: {
                            [key: string]: string;
                        };
                        /** @description Keys of tags that its requests must have. */
                        require_tags: string[];
                        created_at: string;
                        /** @description ISO 8601. Null: it is active. */
                        archived_at: string | null;
                        /** @description Limits on what its requests spend together. */
                        budgets: {
                            id: string;
                            /** @enum {string} */
                            object: "budget";
                            /** @enum {string} */
                            level: "account" | "team" | "member" | "key" | "tag";
                            /** @description ID of the account, team, user or key; of a tag `key=value`. */
                            subject: string;
                            /** @description USD, at most 9 decimals. The limit without raises. */
                            usd: number;
                            /** @enum {string} */
                            window: "day" | "week" | "month" | "quarter" | "total";
                            /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                            starts: string | null;
                            timezone: string;
                            /** @enum {string} */
                            action: "block" | "warn";
                            /** @description USD, at most 9 decimals. The limit with the raises in force. */
                            limit_usd: number;
                            /** @description USD, at most 9 decimals. Charged in the current window. */
                            spent_usd: number;
                            /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                            held_usd: number;
                            /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                            remaining_usd: number;
                            /** @description Start of the current window, ISO 8601. */
                            window_start: string;
                            /** @description End of the current window, ISO 8601. Null: it never resets. */
                            resets_at: string | null;
                            /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                            forecast_exhausted_at: string | null;
                            /** @description Raises in force. */
                            raises: {
                                id: string;
                                /** @description USD, at most 9 decimals. Added to the limit. */
                                usd: number;
                                reason: string;
                                created_at: string;
                                ends_at: string;
                            }[];
                        }[];
                        /** @description Number of people in it. */
                        members: number;
                        /** @description Number of active keys. */
                        keys: number;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteTeamsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            204: {
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchTeamsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    name?: string;
                    /** @description Empty: all models. */
                    models?: string[];
                    /** @description Endpoints that its keys may call. Empty: all. */
                    endpoints?: ("chat" | "responses" | "messages" | "completions" | "embeddings" | "rerank" | "agents")[];
                    /** @description Of all its requests together. Null: no limit. */
                    requests_per_minute?: number | null;
                    /** @description What deployments that answer requests of the team must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                    data_policy?: {
                        /**
                         * @description deny: only deployments that do not keep data to train on.
                         * @enum {string}
                         */
                        data_collection?: "allow" | "deny";
                        /** @description true: only deployments with zero data retention. */
                        zdr?: boolean;
                        /** @description Only deployments in one of these regions. */
                        regions?: string[];
                    } | null;
                    /**
                     * @description Tags of its requests, unless they say otherwise. At most 10; see docs/chargeback.md.
                     * @example {
                     *       "team": "search"
                     *     }
                     */
                    tags?: {
                        [key: string]: string;
                    };
                    /**
                     * @description Keys of tags that its requests must have. Others get 400.
                     * @example [
                     *       "customer"
                     *     ]
                     */
                    require_tags?: string[];
                    /** @description Replaces all budgets. Those with the same window, time zone and start keep what is spent. */
                    budgets?: {
                        /** @description USD, at most 9 decimals. */
                        usd: number;
                        /**
                         * @description total: it never resets.
                         * @enum {string}
                         */
                        window: "day" | "week" | "month" | "quarter" | "total";
                        /**
                         * @description Start of the first window, from which the others are counted: a date in the time zone, or an ISO 8601 time. Null: windows of the calendar.
                         * @example 2030-01-01
                         */
                        starts?: string | null;
                        /** @description IANA name. Default: UTC. */
                        timezone?: string;
                        /**
                         * @description block (default): rejects requests beyond it with 402. warn: alerts only.
                         * @enum {string}
                         */
                        action?: "block" | "warn";
                    }[];
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "team";
                        name: string;
                        /** @description Empty: all. */
                        models: string[];
                        /** @description Empty: all. */
                        endpoints: ("chat" | "responses" | "messages" | "completions" | "embeddings" | "rerank" | "agents")[];
                        /** @description Null: no limit. */
                        requests_per_minute: number | null;
                        /** @description What deployments that answer requests of the team must fulfil; otherwise 403 `policy_not_satisfiable`. Null: nothing. */
                        data_policy: {
                            /**
                             * @description deny: only deployments that do not keep data to train on.
                             * @enum {string}
                             */
                            data_collection?: "allow" | "deny";
                            /** @description true: only deployments with zero data retention. */
                            zdr?: boolean;
                            /** @description Only deployments in one of these regions. */
                            regions?: string[];
                        } | null;
                        /** @description Tags of its requests, unless they say otherwise. */
                        tags: {
                            [key: string]: string;
                        };
                        /** @description Keys of tags that its requests must have. */
                        require_tags: string[];
                        created_at: string;
                        /** @description ISO 8601. Null: it is active. */
                        archived_at: string | null;
                        /** @description Limits on what its requests spend together. */
                        budgets: {
                            id: string;
                            /** @enum {string} */
                            object: "budget";
                            /** @enum {string} */
                            level: "account" | "team" | "member" | "key" | "tag";
                            /** @description ID of the account, team, user or key; of a tag `key=value`. */
                            subject: string;
                            /** @description USD, at most 9 decimals. The limit without raises. */
                            usd: number;
                            /** @enum {string} */
                            window: "day" | "week" | "month" | "quarter" | "total";
                            /** @description Start of the first window, ISO 8601. Null: windows of the calendar. */
                            starts: string | null;
                            timezone: string;
                            /** @enum {string} */
                            action: "block" | "warn";
                            /** @description USD, at most 9 decimals. The limit with the raises in force. */
                            limit_usd: number;
                            /** @description USD, at most 9 decimals. Charged in the current window. */
                            spent_usd: number;
                            /** @description USD, at most 9 decimals. Reserved by requests in flight. */
                            held_usd: number;
                            /** @description USD, at most 9 decimals. `limit_usd` less `spent_usd` and `held_usd`, at least 0. */
                            remaining_usd: number;
                            /** @description Start of the current window, ISO 8601. */
                            window_start: string;
                            /** @description End of the current window, ISO 8601. Null: it never resets. */
                            resets_at: string | null;
                            /** @description Time at which the budget is spent at the pace of this window, ISO 8601. Null: not within the window. */
                            forecast_exhausted_at: string | null;
                            /** @description Raises in force. */
                            raises: {
                                id: string;
                                /** @description USD, at most 9 decimals. Added to the limit. */
                                usd: number;
                                reason: string;
                                created_at: string;
                                ends_at: string;
                            }[];
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getTeamsByIdMembers: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            /** @description ID of the user. */
                            id: string;
                            /** @enum {string} */
                            object: "team_member";
                            email: string;
                            name: string;
                            /**
                             * @description admin: decides who is in it. member: uses it. viewer: sees it.
                             * @enum {string}
                             */
                            role: "admin" | "member" | "viewer";
                            /** @description A group of an identity provider put them here. */
                            by_group: boolean;
                            created_at: string;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postTeamsByIdMembers: {
        parameters: {
            path: {
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    user_id: string;
                    /**
                     * @description admin: decides who is in it. member: uses it. viewer: sees it.
                     * @enum {string}
                     */
                    role: "admin" | "member" | "viewer";
                };
            };
        };
        responses: {
            /** @description Success. */
            201: {
                content: {
                    "application/json": {
                        /** @description ID of the user. */
                        id: string;
                        /** @enum {string} */
                        object: "team_member";
                        email: string;
                        name: string;
                        /**
                         * @description admin: decides who is in it. member: uses it. viewer: sees it.
                         * @enum {string}
                         */
                        role: "admin" | "member" | "viewer";
                        /** @description A group of an identity provider put them here. */
                        by_group: boolean;
                        created_at: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteTeamsByIdMembersByUserId: {
        parameters: {
            path: {
                id: string;
                user_id: string;
            };
        };
        responses: {
            /** @description Success. */
            204: {
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchTeamsByIdMembersByUserId: {
        parameters: {
            path: {
                id: string;
                user_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description admin: decides who is in it. member: uses it. viewer: sees it.
                     * @enum {string}
                     */
                    role: "admin" | "member" | "viewer";
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @description ID of the user. */
                        id: string;
                        /** @enum {string} */
                        object: "team_member";
                        email: string;
                        name: string;
                        /**
                         * @description admin: decides who is in it. member: uses it. viewer: sees it.
                         * @enum {string}
                         */
                        role: "admin" | "member" | "viewer";
                        /** @description A group of an identity provider put them here. */
                        by_group: boolean;
                        created_at: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getGroupMappings: {
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        mappings: {
                            /** @description Name or ID of the group at the identity provider, in any case. */
                            group: string;
                            /** @description Who is in the group is in this team. Null: the role is one in the account. */
                            team_id?: string | null;
                            /**
                             * @description In the team `admin`, `member` or `viewer`; in the account `admin`, `developer` or `billing`.
                             * @enum {string}
                             */
                            role: "admin" | "developer" | "billing" | "member" | "viewer";
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    putGroupMappings: {
        requestBody: {
            content: {
                "application/json": {
                    mappings: {
                        /** @description Name or ID of the group at the identity provider, in any case. */
                        group: string;
                        /** @description Who is in the group is in this team. Null: the role is one in the account. */
                        team_id?: string | null;
                        /**
                         * @description In the team `admin`, `member` or `viewer`; in the account `admin`, `developer` or `billing`.
                         * @enum {string}
                         */
                        role: "admin" | "developer" | "billing" | "member" | "viewer";
                    }[];
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        mappings: {
                            /** @description Name or ID of the group at the identity provider, in any case. */
                            group: string;
                            /** @description Who is in the group is in this team. Null: the role is one in the account. */
                            team_id?: string | null;
                            /**
                             * @description In the team `admin`, `member` or `viewer`; in the account `admin`, `developer` or `billing`.
                             * @enum {string}
                             */
                            role: "admin" | "developer" | "billing" | "member" | "viewer";
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAudit: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
                /** @description Only events with exactly this action. */
                action?: string;
                /** @description Only events of this actor. */
                actor_id?: string;
                /**
                 * @description ISO 8601: only events at or after this time.
                 * @example 2026-01-01T00:00:00Z
                 */
                from?: string;
                /**
                 * @description ISO 8601: only events before this time.
                 * @example 2026-01-01T00:00:00Z
                 */
                to?: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "audit_event";
                            /** @description ISO 8601 UTC. */
                            at: string;
                            actor: {
                                /** @enum {string} */
                                kind: "key" | "token" | "session" | "command_line" | "system";
                                /** @description ID of the API key, device or user. */
                                id: string | null;
                                /** @description Name of the key, or e-mail address. */
                                name: string | null;
                            };
                            /** @description Noun and verb: `key.created`, `member.role_changed`. */
                            action: string;
                            /** @description ID of the affected object. Null: the account itself. */
                            subject: string | null;
                            /**
                             * @description denied: the request was rejected.
                             * @enum {string}
                             */
                            result: "done" | "denied";
                            /** @description Number of equal rejected requests within an hour of `at`; otherwise 1. */
                            attempts: number;
                            /** @description Time of the last of these requests, ISO 8601 UTC. */
                            last_at: string;
                            /** @description IP address of the client. */
                            address: string | null;
                            /** @description User agent of the client. */
                            user_agent: string | null;
                            /** @description `x-request-id` of the request. */
                            request_id: string | null;
                            details: {
                                [key: string]: unknown;
                            };
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getDevices: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
                all?: "true" | "false";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "device";
                            client_id: string;
                            client_name: string;
                            /** @description The user who connected it. */
                            user_id: string;
                            /** @description Their e-mail address. */
                            user_email: string | null;
                            /** @description Approved scopes. The device has those of them that its user has. */
                            scopes: string[];
                            /** @description IP address of the device at its request. */
                            address: string | null;
                            /** @description User agent of the device. */
                            user_agent: string | null;
                            created_at: string;
                            /** @description ISO 8601. */
                            last_used_at: string | null;
                            /** @description ISO 8601. */
                            revoked_at: string | null;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteDevicesById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            204: {
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAgents: {
        parameters: {
            query?: {
                status?: "queued" | "running" | "completed" | "failed" | "cancelled";
                /**
                 * @description `organisation/repository`
                 * @example example/website
                 */
                repository?: string;
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "agent";
                            name: string;
                            /** @enum {string} */
                            status: "queued" | "running" | "completed" | "failed" | "cancelled";
                            repository: string;
                            model: string;
                            /** @description Base branch. Null: the repository’s default branch. */
                            base_branch: string | null;
                            /** @description Team that it belongs to. Null: the account. */
                            team_id: string | null;
                            /** @description Branch that the agent works on and pushes. */
                            branch: string;
                            /** @description Summary of the last completed run, by the model. */
                            summary: string | null;
                            /** @description Reason of the failure. */
                            error: {
                                /** @enum {string} */
                                code: "start_timeout" | "agents_unavailable" | "repository_unavailable" | "repository_too_large" | "model_unavailable" | "insufficient_credit" | "rate_limited" | "provider_error" | "max_cost" | "max_steps" | "run_timeout" | "stalled" | "workspace_too_large" | "push_failed" | "worker_lost" | "internal_error";
                                message: string;
                            } | null;
                            /** @description Usage of all runs. */
                            usage: {
                                /** @description Prompt and completion tokens. */
                                tokens: number;
                                /** @description USD, at most 9 decimals. */
                                cost_usd: number;
                            };
                            /** @description Number of runs, including the queued or running one. */
                            runs: number;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                            /** @description Start of the last run. */
                            started_at: string | null;
                            /** @description End of the last run. */
                            ended_at: string | null;
                            /** @description Creator of the last run, whose rights and budget it uses. */
                            created_by: {
                                /** @enum {string} */
                                type: "key" | "device" | "member";
                                id: string;
                                /** @description Name of the key, or e-mail address of the person. Null: deleted. */
                                name: string | null;
                            };
                            /**
                             * @deprecated
                             * @description Use `created_by`, which has the same value.
                             */
                            asked_by: {
                                /** @enum {string} */
                                type: "key" | "device" | "member";
                                id: string;
                                /** @description Name of the key, or e-mail address of the person. Null: deleted. */
                                name: string | null;
                            };
                            /** @description Page of the branch at GitHub or GitLab. Null: not pushed, or another host. */
                            branch_url: string | null;
                            /** @description Page of the pull request that was opened last. */
                            pull_request_url: string | null;
                            /**
                             * @description Why no pull request can be opened. Null: one can.
                             * @enum {string|null}
                             */
                            pull_request_disabled_reason: "unsupported_host" | "no_credential" | "not_ended" | "not_pushed" | null;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postAgents: {
        parameters: {
            header?: {
                /** @description A repeat with the same key and body returns the first response without repeating the work. */
                "idempotency-key"?: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Display name. */
                    name: string;
                    /**
                     * @description `organisation/repository`
                     * @example example/website
                     */
                    repository: string;
                    /** @description Task of the agent. */
                    prompt: string;
                    /** @description Default: the operator’s choice. */
                    model?: string | null;
                    /** @description Team that it belongs to, whose limits its runs have. Default: that of the key, or none. */
                    team_id?: string | null;
                    /**
                     * @description Base branch. Default: the repository’s default branch.
                     * @example main
                     */
                    branch?: string | null;
                    /** @description Cost limit of a run in USD, at most 9 decimals. */
                    max_cost_usd?: number | null;
                    /** @description Limit of model calls in a run. Default: 100. */
                    max_steps?: number | null;
                };
            };
        };
        responses: {
            /** @description The agent. Without the scope agents:read only `id` and `object`. */
            201: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "agent";
                        name: string;
                        /** @enum {string} */
                        status: "queued" | "running" | "completed" | "failed" | "cancelled";
                        repository: string;
                        model: string;
                        /** @description Base branch. Null: the repository’s default branch. */
                        base_branch: string | null;
                        /** @description Team that it belongs to. Null: the account. */
                        team_id: string | null;
                        /** @description Branch that the agent works on and pushes. */
                        branch: string;
                        /** @description Summary of the last completed run, by the model. */
                        summary: string | null;
                        /** @description Reason of the failure. */
                        error: {
                            /** @enum {string} */
                            code: "start_timeout" | "agents_unavailable" | "repository_unavailable" | "repository_too_large" | "model_unavailable" | "insufficient_credit" | "rate_limited" | "provider_error" | "max_cost" | "max_steps" | "run_timeout" | "stalled" | "workspace_too_large" | "push_failed" | "worker_lost" | "internal_error";
                            message: string;
                        } | null;
                        /** @description Usage of all runs. */
                        usage: {
                            /** @description Prompt and completion tokens. */
                            tokens: number;
                            /** @description USD, at most 9 decimals. */
                            cost_usd: number;
                        };
                        /** @description Number of runs, including the queued or running one. */
                        runs: number;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description Start of the last run. */
                        started_at: string | null;
                        /** @description End of the last run. */
                        ended_at: string | null;
                        /** @description Creator of the last run, whose rights and budget it uses. */
                        created_by: {
                            /** @enum {string} */
                            type: "key" | "device" | "member";
                            id: string;
                            /** @description Name of the key, or e-mail address of the person. Null: deleted. */
                            name: string | null;
                        };
                        /**
                         * @deprecated
                         * @description Use `created_by`, which has the same value.
                         */
                        asked_by: {
                            /** @enum {string} */
                            type: "key" | "device" | "member";
                            id: string;
                            /** @description Name of the key, or e-mail address of the person. Null: deleted. */
                            name: string | null;
                        };
                        /** @description Page of the branch at GitHub or GitLab. Null: not pushed, or another host. */
                        branch_url: string | null;
                        /** @description Page of the pull request that was opened last. */
                        pull_request_url: string | null;
                        /**
                         * @description Why no pull request can be opened. Null: one can.
                         * @enum {string|null}
                         */
                        pull_request_disabled_reason: "unsupported_host" | "no_credential" | "not_ended" | "not_pushed" | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAgentsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "agent";
                        name: string;
                        /** @enum {string} */
                        status: "queued" | "running" | "completed" | "failed" | "cancelled";
                        repository: string;
                        model: string;
                        /** @description Base branch. Null: the repository’s default branch. */
                        base_branch: string | null;
                        /** @description Team that it belongs to. Null: the account. */
                        team_id: string | null;
                        /** @description Branch that the agent works on and pushes. */
                        branch: string;
                        /** @description Summary of the last completed run, by the model. */
                        summary: string | null;
                        /** @description Reason of the failure. */
                        error: {
                            /** @enum {string} */
                            code: "start_timeout" | "agents_unavailable" | "repository_unavailable" | "repository_too_large" | "model_unavailable" | "insufficient_credit" | "rate_limited" | "provider_error" | "max_cost" | "max_steps" | "run_timeout" | "stalled" | "workspace_too_large" | "push_failed" | "worker_lost" | "internal_error";
                            message: string;
                        } | null;
                        /** @description Usage of all runs. */
                        usage: {
                            /** @description Prompt and completion tokens. */
                            tokens: number;
                            /** @description USD, at most 9 decimals. */
                            cost_usd: number;
                        };
                        /** @description Number of runs, including the queued or running one. */
                        runs: number;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description Start of the last run. */
                        started_at: string | null;
                        /** @description End of the last run. */
                        ended_at: string | null;
                        /** @description Creator of the last run, whose rights and budget it uses. */
                        created_by: {
                            /** @enum {string} */
                            type: "key" | "device" | "member";
                            id: string;
                            /** @description Name of the key, or e-mail address of the person. Null: deleted. */
                            name: string | null;
                        };
                        /**
                         * @deprecated
                         * @description Use `created_by`, which has the same value.
                         */
                        asked_by: {
                            /** @enum {string} */
                            type: "key" | "device" | "member";
                            id: string;
                            /** @description Name of the key, or e-mail address of the person. Null: deleted. */
                            name: string | null;
                        };
                        /** @description Page of the branch at GitHub or GitLab. Null: not pushed, or another host. */
                        branch_url: string | null;
                        /** @description Page of the pull request that was opened last. */
                        pull_request_url: string | null;
                        /**
                         * @description Why no pull request can be opened. Null: one can.
                         * @enum {string|null}
                         */
                        pull_request_disabled_reason: "unsupported_host" | "no_credential" | "not_ended" | "not_pushed" | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteAgentsById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            204: {
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postAgentsByIdFollowup: {
        parameters: {
            header?: {
                /** @description A repeat with the same key and body returns the first response without repeating the work. */
                "idempotency-key"?: string;
            };
            path: {
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Task of the agent. */
                    prompt: string;
                };
            };
        };
        responses: {
            /** @description The agent. Without the scope agents:read only `id` and `object`. */
            202: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "agent";
                        name: string;
                        /** @enum {string} */
                        status: "queued" | "running" | "completed" | "failed" | "cancelled";
                        repository: string;
                        model: string;
                        /** @description Base branch. Null: the repository’s default branch. */
                        base_branch: string | null;
                        /** @description Team that it belongs to. Null: the account. */
                        team_id: string | null;
                        /** @description Branch that the agent works on and pushes. */
                        branch: string;
                        /** @description Summary of the last completed run, by the model. */
                        summary: string | null;
                        /** @description Reason of the failure. */
                        error: {
                            /** @enum {string} */
                            code: "start_timeout" | "agents_unavailable" | "repository_unavailable" | "repository_too_large" | "model_unavailable" | "insufficient_credit" | "rate_limited" | "provider_error" | "max_cost" | "max_steps" | "run_timeout" | "stalled" | "workspace_too_large" | "push_failed" | "worker_lost" | "internal_error";
                            message: string;
                        } | null;
                        /** @description Usage of all runs. */
                        usage: {
                            /** @description Prompt and completion tokens. */
                            tokens: number;
                            /** @description USD, at most 9 decimals. */
                            cost_usd: number;
                        };
                        /** @description Number of runs, including the queued or running one. */
                        runs: number;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description Start of the last run. */
                        started_at: string | null;
                        /** @description End of the last run. */
                        ended_at: string | null;
                        /** @description Creator of the last run, whose rights and budget it uses. */
                        created_by: {
                            /** @enum {string} */
                            type: "key" | "device" | "member";
                            id: string;
                            /** @description Name of the key, or e-mail address of the person. Null: deleted. */
                            name: string | null;
                        };
                        /**
                         * @deprecated
                         * @description Use `created_by`, which has the same value.
                         */
                        asked_by: {
                            /** @enum {string} */
                            type: "key" | "device" | "member";
                            id: string;
                            /** @description Name of the key, or e-mail address of the person. Null: deleted. */
                            name: string | null;
                        };
                        /** @description Page of the branch at GitHub or GitLab. Null: not pushed, or another host. */
                        branch_url: string | null;
                        /** @description Page of the pull request that was opened last. */
                        pull_request_url: string | null;
                        /**
                         * @description Why no pull request can be opened. Null: one can.
                         * @enum {string|null}
                         */
                        pull_request_disabled_reason: "unsupported_host" | "no_credential" | "not_ended" | "not_pushed" | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postAgentsByIdCancel: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description The agent. Without the scope agents:read only `id` and `object`. */
            202: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "agent";
                        name: string;
                        /** @enum {string} */
                        status: "queued" | "running" | "completed" | "failed" | "cancelled";
                        repository: string;
                        model: string;
                        /** @description Base branch. Null: the repository’s default branch. */
                        base_branch: string | null;
                        /** @description Team that it belongs to. Null: the account. */
                        team_id: string | null;
                        /** @description Branch that the agent works on and pushes. */
                        branch: string;
                        /** @description Summary of the last completed run, by the model. */
                        summary: string | null;
                        /** @description Reason of the failure. */
                        error: {
                            /** @enum {string} */
                            code: "start_timeout" | "agents_unavailable" | "repository_unavailable" | "repository_too_large" | "model_unavailable" | "insufficient_credit" | "rate_limited" | "provider_error" | "max_cost" | "max_steps" | "run_timeout" | "stalled" | "workspace_too_large" | "push_failed" | "worker_lost" | "internal_error";
                            message: string;
                        } | null;
                        /** @description Usage of all runs. */
                        usage: {
                            /** @description Prompt and completion tokens. */
                            tokens: number;
                            /** @description USD, at most 9 decimals. */
                            cost_usd: number;
                        };
                        /** @description Number of runs, including the queued or running one. */
                        runs: number;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description Start of the last run. */
                        started_at: string | null;
                        /** @description End of the last run. */
                        ended_at: string | null;
                        /** @description Creator of the last run, whose rights and budget it uses. */
                        created_by: {
                            /** @enum {string} */
                            type: "key" | "device" | "member";
                            id: string;
                            /** @description Name of the key, or e-mail address of the person. Null: deleted. */
                            name: string | null;
                        };
                        /**
                         * @deprecated
                         * @description Use `created_by`, which has the same value.
                         */
                        asked_by: {
                            /** @enum {string} */
                            type: "key" | "device" | "member";
                            id: string;
                            /** @description Name of the key, or e-mail address of the person. Null: deleted. */
                            name: string | null;
                        };
                        /** @description Page of the branch at GitHub or GitLab. Null: not pushed, or another host. */
                        branch_url: string | null;
                        /** @description Page of the pull request that was opened last. */
                        pull_request_url: string | null;
                        /**
                         * @description Why no pull request can be opened. Null: one can.
                         * @enum {string|null}
                         */
                        pull_request_disabled_reason: "unsupported_host" | "no_credential" | "not_ended" | "not_pushed" | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postAgentsByIdPullRequest: {
        parameters: {
            path: {
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    title?: string | null;
                    body?: string | null;
                    base?: string | null;
                    draft?: boolean | null;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        object: "pull_request";
                        /** @description Its page. */
                        url: string;
                        number: number;
                        /** @description Branch to merge into. */
                        base: string;
                        /** @description Branch of the agent. */
                        head: string;
                        /** @enum {string} */
                        provider: "github" | "gitlab";
                    };
                };
            };
            /** @description Success. */
            201: {
                content: {
                    "application/json": {
                        /** @enum {string} */
                        object: "pull_request";
                        /** @description Its page. */
                        url: string;
                        number: number;
                        /** @description Branch to merge into. */
                        base: string;
                        /** @description Branch of the agent. */
                        head: string;
                        /** @enum {string} */
                        provider: "github" | "gitlab";
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAgentsByIdMessages: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "agent.message";
                            /** @description Number within the agent, from 1. */
                            number: number;
                            /** @description The run that was current when the message was written. */
                            run_id: string;
                            /**
                             * @description summary: replaces older messages in the model’s context.
                             * @enum {string}
                             */
                            kind: "user" | "assistant" | "tool" | "summary";
                            content: string | null;
                            /** @description As in chat completions. */
                            tool_calls: {
                                [key: string]: unknown;
                            }[] | null;
                            /** @description Author. Null: the model or a tool, or the message is older than this field. */
                            author: {
                                /** @enum {string} */
                                type: "key" | "device" | "member";
                                id: string;
                            } | null;
                            /** @description For a tool message: the tool call that it answers. */
                            tool_call_id: string | null;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAgentsByIdRuns: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "run";
                            agent_id: string;
                            /** @description Number within the agent, from 1. */
                            number: number;
                            /** @enum {string} */
                            status: "queued" | "running" | "completed" | "failed" | "cancelled";
                            /** @description Phase of a running run: cloning, working, committing or pushing. */
                            phase: string | null;
                            /** @description Summary of the run, by the model. */
                            summary: string | null;
                            /** @description Reason of the failure. */
                            error: {
                                /** @enum {string} */
                                code: "start_timeout" | "agents_unavailable" | "repository_unavailable" | "repository_too_large" | "model_unavailable" | "insufficient_credit" | "rate_limited" | "provider_error" | "max_cost" | "max_steps" | "run_timeout" | "stalled" | "workspace_too_large" | "push_failed" | "worker_lost" | "internal_error";
                                message: string;
                            } | null;
                            usage: {
                                prompt_tokens: number;
                                completion_tokens: number;
                                /** @description Prompt and completion tokens. */
                                tokens: number;
                                /** @description USD, at most 9 decimals. */
                                cost_usd: number;
                            };
                            /** @description Number of model calls. */
                            steps: number;
                            /** @description Null: 100. */
                            max_steps: number | null;
                            /** @description Null: only the limits of the account. */
                            max_cost_usd: number | null;
                            /** @description Commit of the run on the branch. */
                            commit: string | null;
                            /** @description Whether this commit was pushed. */
                            pushed: boolean;
                            /** @description ISO 8601 UTC. */
                            cancel_requested_at: string | null;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                            /** @description ISO 8601 UTC. */
                            started_at: string | null;
                            /** @description ISO 8601 UTC. */
                            ended_at: string | null;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAgentsByIdDiff: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description The diff. */
            200: {
                content: {
                    "text/plain": string;
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAgentsByIdEvents: {
        parameters: {
            query?: {
                /** @description Whether to wait for further events. Default: `true`. */
                follow?: "true" | "false";
            };
            header?: {
                /**
                 * @description Number of the last event received.
                 * @example 12
                 */
                "last-event-id"?: string;
            };
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Events. */
            200: {
                content: {
                    "text/event-stream": {
                        /** @description Resumes after it, as `Last-Event-ID`. */
                        id?: string;
                        event: string;
                        /** @description JSON. */
                        data: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWebhooks: {
        parameters: {
            query?: {
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "webhook";
                            /**
                             * @description webhook: signed JSON. slack: messages to a Slack-compatible incoming webhook. email: messages to an address.
                             * @enum {string}
                             */
                            kind: "webhook" | "slack" | "email";
                            /** @description The address. Of the kind `slack` without its path, which is a secret. */
                            url: string;
                            /** @description Event types. Null: all. */
                            events: string[] | null;
                            description: string;
                            /**
                             * @description disabled: the endpoint receives nothing.
                             * @enum {string}
                             */
                            status: "enabled" | "disabled";
                            /**
                             * @description gone: the endpoint returned 410. failing: every attempt of 5 days failed. creator_gone: its creator left the account, or the key that created it was revoked; the member who enables it becomes its creator.
                             * @enum {string|null}
                             */
                            disabled_reason: "by_request" | "gone" | "failing" | "creator_gone" | null;
                            /** @description ISO 8601 UTC. */
                            disabled_at: string | null;
                            /** @description Time of the first failed attempt since the last success. */
                            failing_since: string | null;
                            /** @description Time until which the previous secret also signs. */
                            previous_secret_expires_at: string | null;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                            /** @description Newest delivery. Null: none. */
                            last_delivery: {
                                id: string;
                                /**
                                 * @description Type of the event.
                                 * @enum {string}
                                 */
                                type: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "budget.alert" | "ledger.audit" | "provider.refused" | "key.expiring" | "webhook.test";
                                /**
                                 * @description pending: an attempt is running or scheduled.
                                 * @enum {string}
                                 */
                                status: "pending" | "delivered" | "failed";
                                /** @description ISO 8601 UTC. */
                                created_at: string;
                            } | null;
                            /** @description Number of deliveries by status in the last 24 hours, of the newest 1000. */
                            deliveries_24h: {
                                delivered: number;
                                failed: number;
                                pending: number;
                            };
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postWebhooks: {
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description webhook: signed JSON. slack: messages to a Slack-compatible incoming webhook. email: messages to an address.
                     * @enum {string}
                     */
                    kind?: "webhook" | "slack" | "email";
                    /**
                     * @description A public `https:` address on port 443 or 8443; of the kind `email`: `mailto:` and an address.
                     * @example https://example.com/webhooks
                     */
                    url: string;
                    /** @description Event types that the endpoint receives: `agent.started`, `agent.completed`, `agent.failed`, `agent.cancelled`, `usage.alert`, `credit.exhausted`, `budget.alert`, `ledger.audit`, `provider.refused`, `key.expiring`, `webhook.test`. Null: all, including future types. Not set: all; alerts for `slack` and `email`. */
                    events?: ("agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "budget.alert" | "ledger.audit" | "provider.refused" | "key.expiring" | "webhook.test")[] | null;
                    /** @description A note. */
                    description?: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            201: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "webhook";
                        /**
                         * @description webhook: signed JSON. slack: messages to a Slack-compatible incoming webhook. email: messages to an address.
                         * @enum {string}
                         */
                        kind: "webhook" | "slack" | "email";
                        /** @description The address. Of the kind `slack` without its path, which is a secret. */
                        url: string;
                        /** @description Event types. Null: all. */
                        events: string[] | null;
                        description: string;
                        /**
                         * @description disabled: the endpoint receives nothing.
                         * @enum {string}
                         */
                        status: "enabled" | "disabled";
                        /**
                         * @description gone: the endpoint returned 410. failing: every attempt of 5 days failed. creator_gone: its creator left the account, or the key that created it was revoked; the member who enables it becomes its creator.
                         * @enum {string|null}
                         */
                        disabled_reason: "by_request" | "gone" | "failing" | "creator_gone" | null;
                        /** @description ISO 8601 UTC. */
                        disabled_at: string | null;
                        /** @description Time of the first failed attempt since the last success. */
                        failing_since: string | null;
                        /** @description Time until which the previous secret also signs. */
                        previous_secret_expires_at: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description Signing secret, returned only this once. Absent for `slack` and `email`. */
                        secret?: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWebhooksById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "webhook";
                        /**
                         * @description webhook: signed JSON. slack: messages to a Slack-compatible incoming webhook. email: messages to an address.
                         * @enum {string}
                         */
                        kind: "webhook" | "slack" | "email";
                        /** @description The address. Of the kind `slack` without its path, which is a secret. */
                        url: string;
                        /** @description Event types. Null: all. */
                        events: string[] | null;
                        description: string;
                        /**
                         * @description disabled: the endpoint receives nothing.
                         * @enum {string}
                         */
                        status: "enabled" | "disabled";
                        /**
                         * @description gone: the endpoint returned 410. failing: every attempt of 5 days failed. creator_gone: its creator left the account, or the key that created it was revoked; the member who enables it becomes its creator.
                         * @enum {string|null}
                         */
                        disabled_reason: "by_request" | "gone" | "failing" | "creator_gone" | null;
                        /** @description ISO 8601 UTC. */
                        disabled_at: string | null;
                        /** @description Time of the first failed attempt since the last success. */
                        failing_since: string | null;
                        /** @description Time until which the previous secret also signs. */
                        previous_secret_expires_at: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description Newest delivery. Null: none. */
                        last_delivery: {
                            id: string;
                            /**
                             * @description Type of the event.
                             * @enum {string}
                             */
                            type: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "budget.alert" | "ledger.audit" | "provider.refused" | "key.expiring" | "webhook.test";
                            /**
                             * @description pending: an attempt is running or scheduled.
                             * @enum {string}
                             */
                            status: "pending" | "delivered" | "failed";
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                        } | null;
                        /** @description Number of deliveries by status in the last 24 hours, of the newest 1000. */
                        deliveries_24h: {
                            delivered: number;
                            failed: number;
                            pending: number;
                        };
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteWebhooksById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            204: {
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchWebhooksById: {
        parameters: {
            path: {
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description A public `https:` address on port 443 or 8443; of the kind `email`: `mailto:` and an address.
                     * @example https://example.com/webhooks
                     */
                    url?: string;
                    /** @description Event types that the endpoint receives: `agent.started`, `agent.completed`, `agent.failed`, `agent.cancelled`, `usage.alert`, `credit.exhausted`, `budget.alert`, `ledger.audit`, `provider.refused`, `key.expiring`, `webhook.test`. Null: all, including future types. Not set: all; alerts for `slack` and `email`. */
                    events?: ("agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "budget.alert" | "ledger.audit" | "provider.refused" | "key.expiring" | "webhook.test")[] | null;
                    /** @description A note. */
                    description?: string;
                    /**
                     * @description `enabled` also resets the failure count. Pending deliveries of a disabled endpoint fail.
                     * @enum {string}
                     */
                    status?: "enabled" | "disabled";
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "webhook";
                        /**
                         * @description webhook: signed JSON. slack: messages to a Slack-compatible incoming webhook. email: messages to an address.
                         * @enum {string}
                         */
                        kind: "webhook" | "slack" | "email";
                        /** @description The address. Of the kind `slack` without its path, which is a secret. */
                        url: string;
                        /** @description Event types. Null: all. */
                        events: string[] | null;
                        description: string;
                        /**
                         * @description disabled: the endpoint receives nothing.
                         * @enum {string}
                         */
                        status: "enabled" | "disabled";
                        /**
                         * @description gone: the endpoint returned 410. failing: every attempt of 5 days failed. creator_gone: its creator left the account, or the key that created it was revoked; the member who enables it becomes its creator.
                         * @enum {string|null}
                         */
                        disabled_reason: "by_request" | "gone" | "failing" | "creator_gone" | null;
                        /** @description ISO 8601 UTC. */
                        disabled_at: string | null;
                        /** @description Time of the first failed attempt since the last success. */
                        failing_since: string | null;
                        /** @description Time until which the previous secret also signs. */
                        previous_secret_expires_at: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postWebhooksByIdRotateSecret: {
        parameters: {
            path: {
                id: string;
            };
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description Seconds for which the old secret also signs. 0: not at all.
                     * @default 86400
                     */
                    overlap?: number;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "webhook";
                        /**
                         * @description webhook: signed JSON. slack: messages to a Slack-compatible incoming webhook. email: messages to an address.
                         * @enum {string}
                         */
                        kind: "webhook" | "slack" | "email";
                        /** @description The address. Of the kind `slack` without its path, which is a secret. */
                        url: string;
                        /** @description Event types. Null: all. */
                        events: string[] | null;
                        description: string;
                        /**
                         * @description disabled: the endpoint receives nothing.
                         * @enum {string}
                         */
                        status: "enabled" | "disabled";
                        /**
                         * @description gone: the endpoint returned 410. failing: every attempt of 5 days failed. creator_gone: its creator left the account, or the key that created it was revoked; the member who enables it becomes its creator.
                         * @enum {string|null}
                         */
                        disabled_reason: "by_request" | "gone" | "failing" | "creator_gone" | null;
                        /** @description ISO 8601 UTC. */
                        disabled_at: string | null;
                        /** @description Time of the first failed attempt since the last success. */
                        failing_since: string | null;
                        /** @description Time until which the previous secret also signs. */
                        previous_secret_expires_at: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description Signing secret, returned only this once. */
                        secret: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWebhooksByIdDeliveries: {
        parameters: {
            query?: {
                /** @description Only deliveries with this status. */
                status?: "pending" | "delivered" | "failed";
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "delivery";
                            webhook_id: string;
                            event_id: string;
                            /**
                             * @description Type of the event.
                             * @enum {string}
                             */
                            type: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "budget.alert" | "ledger.audit" | "provider.refused" | "key.expiring" | "webhook.test";
                            /**
                             * @description pending: an attempt is running or scheduled.
                             * @enum {string}
                             */
                            status: "pending" | "delivered" | "failed";
                            /** @description The newest attempts, in order. */
                            attempts: {
                                /** @description Number of the attempt, from 1, across redeliveries. */
                                number: number;
                                /** @description Start of the attempt, ISO 8601 UTC. */
                                at: string;
                                duration_ms: number;
                                /** @description HTTP status; of an e-mail the reply code of SMTP. Null: no response. */
                                status_code: number | null;
                                /** @description Reason of the failure. Null: success. */
                                error: string | null;
                                /** @description First 4 KiB of the response body. */
                                response_body: string | null;
                            }[];
                            /** @description Null: none. */
                            next_attempt_at: string | null;
                            /** @description Reason why it failed or was not attempted. */
                            error: string | null;
                            created_at: string;
                            /** @description Null while the delivery is pending. */
                            ended_at: string | null;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWebhooksByIdDeliveriesByDeliveryId: {
        parameters: {
            path: {
                id: string;
                delivery_id: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "delivery";
                        webhook_id: string;
                        event_id: string;
                        /**
                         * @description Type of the event.
                         * @enum {string}
                         */
                        type: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "budget.alert" | "ledger.audit" | "provider.refused" | "key.expiring" | "webhook.test";
                        /**
                         * @description pending: an attempt is running or scheduled.
                         * @enum {string}
                         */
                        status: "pending" | "delivered" | "failed";
                        /** @description The newest attempts, in order. */
                        attempts: {
                            /** @description Number of the attempt, from 1, across redeliveries. */
                            number: number;
                            /** @description Start of the attempt, ISO 8601 UTC. */
                            at: string;
                            duration_ms: number;
                            /** @description HTTP status; of an e-mail the reply code of SMTP. Null: no response. */
                            status_code: number | null;
                            /** @description Reason of the failure. Null: success. */
                            error: string | null;
                            /** @description First 4 KiB of the response body. */
                            response_body: string | null;
                        }[];
                        /** @description Null: none. */
                        next_attempt_at: string | null;
                        /** @description Reason why it failed or was not attempted. */
                        error: string | null;
                        created_at: string;
                        /** @description Null while the delivery is pending. */
                        ended_at: string | null;
                        /** @description Body of the request. */
                        payload: {
                            [key: string]: unknown;
                        };
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postWebhooksByIdTest: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            202: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "delivery";
                        webhook_id: string;
                        event_id: string;
                        /**
                         * @description Type of the event.
                         * @enum {string}
                         */
                        type: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "budget.alert" | "ledger.audit" | "provider.refused" | "key.expiring" | "webhook.test";
                        /**
                         * @description pending: an attempt is running or scheduled.
                         * @enum {string}
                         */
                        status: "pending" | "delivered" | "failed";
                        /** @description The newest attempts, in order. */
                        attempts: {
                            /** @description Number of the attempt, from 1, across redeliveries. */
                            number: number;
                            /** @description Start of the attempt, ISO 8601 UTC. */
                            at: string;
                            duration_ms: number;
                            /** @description HTTP status; of an e-mail the reply code of SMTP. Null: no response. */
                            status_code: number | null;
                            /** @description Reason of the failure. Null: success. */
                            error: string | null;
                            /** @description First 4 KiB of the response body. */
                            response_body: string | null;
                        }[];
                        /** @description Null: none. */
                        next_attempt_at: string | null;
                        /** @description Reason why it failed or was not attempted. */
                        error: string | null;
                        created_at: string;
                        /** @description Null while the delivery is pending. */
                        ended_at: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postWebhooksByIdDeliveriesByDeliveryIdRedeliver: {
        parameters: {
            path: {
                id: string;
                delivery_id: string;
            };
        };
        responses: {
            /** @description Success. */
            202: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "delivery";
                        webhook_id: string;
                        event_id: string;
                        /**
                         * @description Type of the event.
                         * @enum {string}
                         */
                        type: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "budget.alert" | "ledger.audit" | "provider.refused" | "key.expiring" | "webhook.test";
                        /**
                         * @description pending: an attempt is running or scheduled.
                         * @enum {string}
                         */
                        status: "pending" | "delivered" | "failed";
                        /** @description The newest attempts, in order. */
                        attempts: {
                            /** @description Number of the attempt, from 1, across redeliveries. */
                            number: number;
                            /** @description Start of the attempt, ISO 8601 UTC. */
                            at: string;
                            duration_ms: number;
                            /** @description HTTP status; of an e-mail the reply code of SMTP. Null: no response. */
                            status_code: number | null;
                            /** @description Reason of the failure. Null: success. */
                            error: string | null;
                            /** @description First 4 KiB of the response body. */
                            response_body: string | null;
                        }[];
                        /** @description Null: none. */
                        next_attempt_at: string | null;
                        /** @description Reason why it failed or was not attempted. */
                        error: string | null;
                        created_at: string;
                        /** @description Null while the delivery is pending. */
                        ended_at: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postWebhooksByIdRedeliver: {
        parameters: {
            path: {
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description ISO 8601: only deliveries that failed at or after this time.
                     * @example 2026-01-31T00:00:00Z
                     */
                    failed_since: string;
                    /**
                     * @description Counts the deliveries without sending them.
                     * @default false
                     */
                    dry_run?: boolean;
                };
            };
        };
        responses: {
            /** @description Success. */
            202: {
                content: {
                    "application/json": {
                        /** @description Number of deliveries that are resent, or with `dry_run` would be. Repeat the request while it is 10 000. */
                        redelivered: number;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getEvents: {
        parameters: {
            query?: {
                /** @description Only events of this type. */
                type?: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "budget.alert" | "ledger.audit" | "provider.refused" | "key.expiring" | "webhook.test";
                /** @description Only events of the last 1 000 runs of this agent. Empty after the agent is deleted. */
                agent_id?: string;
                /** @description `deliveries` adds the deliveries of each event. */
                include?: "deliveries";
                /** @description Items in the page, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. Empty or `null`: the first page. */
                cursor?: string;
                /** @description By time. */
                order?: "asc" | "desc";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        data: {
                            id: string;
                            /** @enum {string} */
                            object: "event";
                            /**
                             * @description Type of the event.
                             * @enum {string}
                             */
                            type: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "budget.alert" | "ledger.audit" | "provider.refused" | "key.expiring" | "webhook.test";
                            /** @description Time of the event, ISO 8601 UTC. */
                            created_at: string;
                            data: {
                                [key: string]: unknown;
                            };
                            /** @description Deliveries of the event. Only with `include=deliveries`. */
                            deliveries?: {
                                id: string;
                                webhook_id: string;
                                /** @description Current address of the endpoint. */
                                webhook_url: string;
                                /**
                                 * @description pending: an attempt is running or scheduled.
                                 * @enum {string}
                                 */
                                status: "pending" | "delivered" | "failed";
                                /** @description ISO 8601 UTC. Null: none. */
                                next_attempt_at: string | null;
                            }[];
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postEventsTrigger: {
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Type of the event.
                     * @enum {string}
                     */
                    type: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "budget.alert" | "ledger.audit" | "provider.refused" | "key.expiring" | "webhook.test";
                };
            };
        };
        responses: {
            /** @description Success. */
            202: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "event";
                        /**
                         * @description Type of the event.
                         * @enum {string}
                         */
                        type: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "budget.alert" | "ledger.audit" | "provider.refused" | "key.expiring" | "webhook.test";
                        /** @description Time of the event, ISO 8601 UTC. */
                        created_at: string;
                        data: {
                            [key: string]: unknown;
                        };
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getEventsStream: {
        parameters: {
            header?: {
                /** @description ID of the last event received. */
                "last-event-id"?: string;
            };
        };
        responses: {
            /** @description Events. */
            200: {
                content: {
                    "text/event-stream": {
                        /** @description Resumes after it, as `Last-Event-ID`. */
                        id?: string;
                        event: string;
                        /** @description JSON. */
                        data: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` has the reason. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` tells whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
}
