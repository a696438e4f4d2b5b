// Made by `npm run generate:client` from /openapi.json; not to be changed by hand.

export interface paths {
    "/healthz": {
        /**
         * Check whether the process is alive
         * @description Answers 200 for as long as the process runs. Needs no credential.
         */
        get: operations["getHealthz"];
    };
    "/readyz": {
        /**
         * Check whether requests can be served
         * @description Answers 503 while the process shuts down or a store does not answer. Needs no credential.
         */
        get: operations["getReadyz"];
    };
    "/device/code": {
        /**
         * Begin the device flow
         * @description RFC 8628. Show the user `verification_uri` and `user_code`, and poll `/oauth/token`.
         */
        post: operations["postDeviceCode"];
    };
    "/oauth/token": {
        /**
         * Get tokens
         * @description For an approved device code, once, or for a refresh token, which is replaced each time.
         */
        post: operations["postOauthToken"];
    };
    "/oauth/revoke": {
        /**
         * Disconnect a device
         * @description RFC 7009. By either of its tokens; 200 also for one that nobody has.
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
         * @description By the cookie of sign-in. `account_id` goes over to another account of the person.
         */
        post: operations["postAuthSession"];
    };
    "/auth/sign-out": {
        /**
         * Sign out
         * @description Ends the session of the cookie, everywhere within 30 s. Without a session it does nothing.
         */
        post: operations["postAuthSignOut"];
    };
    "/auth/link": {
        /**
         * Sign in with a one-time link
         * @description With the token of a link that the terminal printed. A form is sent on to the page that was wanted, or the dashboard.
         */
        post: operations["postAuthLink"];
    };
    "/v1/chat/completions": {
        /**
         * Create a chat completion
         * @description Routes the request to a provider by its model ID. With `stream: true` the answer is an event stream of chunks that ends with `data: [DONE]`; a failure after it began is an event with `error`, then `[DONE]`. With an `Idempotency-Key` a repeat gets the answer of the first, and costs nothing. Events of a stream then have an `id`; a repeat with `Last-Event-ID` gets those that follow it, also while the first still runs.
         */
        post: operations["postChatCompletions"];
    };
    "/v1/models": {
        /**
         * List models
         * @description The models that this key may use and that have a provider here, with capabilities and prices.
         */
        get: operations["getModels"];
    };
    "/v1/models/{id}": {
        /**
         * Get a model
         * @description One model by its ID or an alias. Slashes in IDs may be percent-encoded or not. `Sunset` (RFC 8594) has the day on which its provider shuts it down, `Deprecation` (RFC 9745) says that this day has come.
         */
        get: operations["getModelsById"];
    };
    "/v1/keys": {
        /**
         * List API keys
         * @description All of the account, revoked ones included, unless `status` says otherwise.
         */
        get: operations["getKeys"];
        /**
         * Create an API key
         * @description The secret is in `key`, and shown this once. Needs a role, or a key without budget, models, rate and expiry. What a key creates never has more than that key has, now or later: they share its budget and rate, and end with it.
         */
        post: operations["postKeys"];
    };
    "/v1/keys/{id}": {
        /**
         * Get an API key
         * @description A revoked one, too.
         */
        get: operations["getKeysById"];
        /**
         * Revoke an API key
         * @description In force in every process within a second. Keys that it created are revoked with it, and so are those that these created, unless `cascade=false`.
         */
        delete: operations["deleteKeysById"];
        /**
         * Change an API key
         * @description Only the fields that are sent. `null` and empty lists remove a limit.
         */
        patch: operations["patchKeysById"];
    };
    "/v1/usage": {
        /**
         * Usage of a period
         * @description Tokens and cost, by model, the most expensive first. A completion is counted within a second.
         */
        get: operations["getUsage"];
    };
    "/v1/usage/performance": {
        /**
         * Speed and reliability
         * @description What the newest completions of a period say, at most 5000 of them: how many failed, and how long the others took. A percentile is the nearest rank, the smallest measured time that so many per cent did not exceed. Times to the first byte are those of streams, `duration_ms` those of completions that completed. `groups` and `series` are about the same completions.
         */
        get: operations["getUsagePerformance"];
    };
    "/v1/usage/completions": {
        /**
         * List completions
         * @description Every completion that reached a provider, whatever came of it. Filters are combined with AND.
         */
        get: operations["getUsageCompletions"];
    };
    "/v1/usage/completions/{id}": {
        /**
         * Get a completion
         * @description What one completion used and cost, and how the cost came about, by the `id` of its answer.
         */
        get: operations["getUsageCompletionsById"];
    };
    "/v1/usage/completions/stream": {
        /**
         * Stream completions
         * @description Completions as they end, as an event stream: `id` is the completion’s, `event` is `completion`, `data` one line of JSON, the object that the list has. A comment keeps it open while there are none. Once a second it looks at the newest 100 that match and began within the last hour, and tells those that it did not find before, by when they ended: what ends later than that is in the list alone. Filters are combined with AND. With `Last-Event-ID` it goes on after that completion; those that ended in the seconds before it may come again, so look at their ids. 400 where that is no id of a completion, 429 where ten already listen.
         */
        get: operations["getUsageCompletionsStream"];
    };
    "/v1/ledger": {
        /**
         * List the ledger
         * @description Every movement of credit, the newest first. Rows are never changed; the balance is their sum.
         */
        get: operations["getLedger"];
    };
    "/v1/ledger/statement": {
        /**
         * Statement of a period
         * @description The balance before and after, the sum of every kind of movement between them, and the usage by model. Periods are whole days in UTC.
         */
        get: operations["getLedgerStatement"];
    };
    "/v1/usage/reconcile": {
        /**
         * Check that usage, ledger and balance agree
         * @description Adds up the completions, the sums kept of them, the ledger and the open holds, from one look at the database, and compares. With `deep=true` the account is also audited: every charge recomputed from tokens and tariff, and everything kept of it, for about 2 seconds a request. While `audit.status` is `partial`, send its `cursor` to go on.
         */
        get: operations["getUsageReconcile"];
    };
    "/v1/invoices": {
        /**
         * List invoices
         * @description One a month (UTC) in which credit moved, closed when the month has been over for an hour.
         */
        get: operations["getInvoices"];
    };
    "/v1/invoices/{id}": {
        /**
         * Get an invoice
         * @description What a month was charged, by model, and how credit moved. A closed invoice never changes.
         */
        get: operations["getInvoicesById"];
    };
    "/v1/account": {
        /**
         * Get the account
         * @description The account of the API key, with its budget and alerts, and the limits of its plan.
         */
        get: operations["getAccount"];
        /**
         * Change the account
         * @description Only the fields that are sent. A budget holds from the next request on.
         */
        patch: operations["patchAccount"];
    };
    "/v1/admin/accounts": {
        /**
         * List accounts
         * @description All of the installation, or those that `search` finds.
         */
        get: operations["getAdminAccounts"];
        /**
         * Create an account
         * @description The allowance of its plan for this month is granted at once.
         */
        post: operations["postAdminAccounts"];
    };
    "/v1/admin/accounts/{id}": {
        /**
         * Get an account
         * @description Any of the installation. The allowance of its plan for this month is granted first.
         */
        get: operations["getAdminAccountsById"];
        /**
         * Change an account
         * @description Only the fields that are sent. Another plan is in force in every process within a second.
         */
        patch: operations["patchAdminAccountsById"];
    };
    "/v1/admin/plans": {
        /**
         * List plans
         * @description Those of the configuration, which an account may be given.
         */
        get: operations["getAdminPlans"];
    };
    "/v1/admin/accounts/{id}/credits": {
        /**
         * Add or remove credit of an account
         * @description Returns the new row of its ledger. Rows are never changed: a mistake is corrected by another row.
         */
        post: operations["postAdminAccountsByIdCredits"];
    };
    "/v1/admin/providers": {
        /**
         * List providers
         * @description The configured providers: whether calls to them succeed, how fast they answer, and what they are busy with. Each process has its own view, from its own calls: this is the one that answers.
         */
        get: operations["getAdminProviders"];
    };
    "/v1/admin/price_ends": {
        /**
         * List prices that end
         * @description Models whose price ends within a week without a successor, or has ended: they answer 503 `model_not_priced` from then on. Set `pricing`, or its `successors`, in the configuration.
         */
        get: operations["getAdminPriceEnds"];
    };
    "/v1/admin/providers/{name}/test": {
        /**
         * Test a provider
         * @description Asks the provider once for its list of models, with its first key, and waits at most 10 s. It charges nobody, and changes nothing of how the provider fares. A test that is under way answers all who ask for it meanwhile. Each process has its own way to the provider: this is the one that answers. 404: none of this name is configured.
         */
        post: operations["postAdminProvidersByNameTest"];
    };
    "/v1/admin/instances": {
        /**
         * List processes
         * @description Those that run and share this database. One that was killed is listed for 30 s more.
         */
        get: operations["getAdminInstances"];
    };
    "/v1/admin/agents": {
        /**
         * Get the state of agents
         * @description Whether agents can be run. Each process looks at its own machine: this is the one that answers.
         */
        get: operations["getAdminAgents"];
    };
    "/v1/me": {
        /**
         * Who am I?
         * @description What the credential of this request is, whose it is, and what it may do.
         */
        get: operations["getMe"];
    };
    "/v1/sessions": {
        /**
         * List sessions
         * @description Browsers that you are signed in with. An API key has none.
         */
        get: operations["getSessions"];
    };
    "/v1/sessions/{id}": {
        /**
         * End a session
         * @description Signs a browser of yours out, within a second everywhere.
         */
        delete: operations["deleteSessionsById"];
    };
    "/v1/members": {
        /**
         * List members
         * @description Who belongs to the account, by when they joined.
         */
        get: operations["getMembers"];
    };
    "/v1/members/{id}": {
        /**
         * Remove a member, or leave
         * @description Ends their sessions and disconnects their devices within a second. Everybody may leave but the last owner; others are removed by who has the right `members`. API keys belong to the account and stay.
         */
        delete: operations["deleteMembersById"];
        /**
         * Change a member’s role
         * @description In force in every process within a second. Nobody gives more than they have; only owners make and change owners, and the last owner stays one.
         */
        patch: operations["patchMembersById"];
    };
    "/v1/invitations": {
        /**
         * List invitations
         * @description Those that are over included, for some weeks.
         */
        get: operations["getInvitations"];
        /**
         * Invite somebody
         * @description Answers with a link that makes whoever opens it first a member. At most one’s own role can be given. Nothing is sent.
         */
        post: operations["postInvitations"];
    };
    "/v1/invitations/{id}": {
        /**
         * Revoke an invitation
         * @description Its link is good for nobody from then on.
         */
        delete: operations["deleteInvitationsById"];
    };
    "/v1/audit": {
        /**
         * List audit events
         * @description Who did what, from where, and whether it was allowed. Kept for at least 400 days. What was done is never changed.
         */
        get: operations["getAudit"];
    };
    "/v1/devices": {
        /**
         * List connected devices
         * @description One’s own, those included that are connected no longer. Owners and admins see everybody’s with `all=true`.
         */
        get: operations["getDevices"];
    };
    "/v1/devices/{id}": {
        /**
         * Disconnect a device
         * @description One’s own; owners and admins also others’. Its tokens are refused in every process within a second.
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
         * @description Answers at once; the agent waits for a worker. Its calls of the model are charged like any others.
         */
        post: operations["postAgents"];
    };
    "/v1/agents/{id}": {
        /** Get an agent */
        get: operations["getAgentsById"];
        /**
         * Delete an agent
         * @description With all that it said and left behind, but for what it was charged. One that waits or runs is cancelled first.
         */
        delete: operations["deleteAgentsById"];
    };
    "/v1/agents/{id}/followup": {
        /**
         * Send a follow-up
         * @description One that has ended begins a further run, with the rights and on the budget of who asks. One that waits or runs reads it at its next step: whoever asks must have the rights of that run, and no limits that it does not have.
         */
        post: operations["postAgentsByIdFollowup"];
    };
    "/v1/agents/{id}/cancel": {
        /**
         * Cancel an agent
         * @description One that waits ends at once, one that runs within 10 seconds; what it did is kept.
         */
        post: operations["postAgentsByIdCancel"];
    };
    "/v1/agents/{id}/messages": {
        /**
         * List the messages of an agent
         * @description The conversation of people, the model and its tools.
         */
        get: operations["getAgentsByIdMessages"];
    };
    "/v1/agents/{id}/runs": {
        /**
         * List the runs of an agent
         * @description Each is billed by itself: the first one, and one for each follow-up after it had ended.
         */
        get: operations["getAgentsByIdRuns"];
    };
    "/v1/agents/{id}/diff": {
        /**
         * Get what an agent changed
         * @description A unified diff against what the work started from, by the last run that left one. One that was too large is cut off after a whole line, and the answer says so with `x-turnpike-truncated: true`.
         */
        get: operations["getAgentsByIdDiff"];
    };
    "/v1/agents/{id}/events": {
        /**
         * Listen to an agent
         * @description What it has done from the beginning, and what it does, as an event stream: `id` is the event’s number, `event` its type (`status`, `phase`, `message`, `tool_call`, `tool_result`, `usage`, `diff`), `data` a JSON object. With `Last-Event-ID` it goes on after that event. When the agent has ended and all is told, `done` comes with its status, and the stream ends; with `follow=false` as soon as what it has done so far is told.
         */
        get: operations["getAgentsByIdEvents"];
    };
    "/v1/webhooks": {
        /**
         * List webhook endpoints
         * @description All of the account, disabled ones included.
         */
        get: operations["getWebhooks"];
        /**
         * Create a webhook endpoint
         * @description Answers at once; a `webhook.test` event is on its way, whatever `events` says. The secret that signs is in `secret`, and shown this once.
         */
        post: operations["postWebhooks"];
    };
    "/v1/webhooks/{id}": {
        /** Get a webhook endpoint */
        get: operations["getWebhooksById"];
        /**
         * Delete a webhook endpoint
         * @description With its deliveries; those that are pending are never sent.
         */
        delete: operations["deleteWebhooksById"];
        /**
         * Change a webhook endpoint
         * @description Only the fields that are sent. What is on its way already goes to the new address.
         */
        patch: operations["patchWebhooksById"];
    };
    "/v1/webhooks/{id}/rotate_secret": {
        /**
         * Rotate the secret of a webhook endpoint
         * @description The new secret is in `secret`, and shown this once. The old one signs as well for 24 hours by default.
         */
        post: operations["postWebhooksByIdRotateSecret"];
    };
    "/v1/webhooks/{id}/deliveries": {
        /**
         * List deliveries
         * @description What was sent to an endpoint in the last 30 days, and what came of each attempt.
         */
        get: operations["getWebhooksByIdDeliveries"];
    };
    "/v1/webhooks/{id}/deliveries/{delivery_id}": {
        /**
         * Get a delivery
         * @description With the body that is sent.
         */
        get: operations["getWebhooksByIdDeliveriesByDeliveryId"];
    };
    "/v1/webhooks/{id}/test": {
        /**
         * Send a test event
         * @description A `webhook.test` for this endpoint alone, whatever `events` says. 409 while it is disabled.
         */
        post: operations["postWebhooksByIdTest"];
    };
    "/v1/webhooks/{id}/deliveries/{delivery_id}/redeliver": {
        /**
         * Send a delivery again
         * @description The same event with the same `event_id`, with all attempts anew. 409 while it is pending.
         */
        post: operations["postWebhooksByIdDeliveriesByDeliveryIdRedeliver"];
    };
    "/v1/webhooks/{id}/redeliver": {
        /**
         * Send all failed deliveries again
         * @description Those that have failed since a time, the oldest first, at most 10 000 in one call. With `dry_run` it only says how many there are.
         */
        post: operations["postWebhooksByIdRedeliver"];
    };
    "/v1/events": {
        /**
         * List events
         * @description What happened in the last 30 days.
         */
        get: operations["getEvents"];
    };
    "/v1/events/trigger": {
        /**
         * Trigger an event
         * @description An event with made-up contents, to try receivers with: it goes to every endpoint that asks for its type. Its `data` has `test: true`.
         */
        post: operations["postEventsTrigger"];
    };
    "/v1/events/stream": {
        /**
         * Listen to events
         * @description Events as they come, as an event stream: `id` is the event’s, `event` its type, `data` the body that endpoints are sent. A comment keeps it open while there are none. With `Last-Event-ID` it goes on after that event; events of the seconds before it may come again, so look at `event_id`.
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
         *         "request_id": "req_00000000exampleexample"
         *       }
         *     }
         */
        Error: {
            error: {
                /** @description Stable; check this. */
                type: string;
                /** @description For people; may change. */
                message: string;
                /** @description More exact than type. */
                code: string;
                /** @description Path of the offending parameter. */
                param?: string;
                /** @description Seconds. */
                retry_after?: number;
                request_id: string;
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
                /** @description Who speaks. `developer` means the same as `system`. */
                role: "system" | "developer" | "user" | "assistant" | "tool";
                /** @description Text, null (assistant with tool calls), or a list of text, image_url, input_audio, file parts. */
                content?: unknown;
                name?: string;
                /** @description Calls of an assistant message. */
                tool_calls?: unknown[];
                /** @description On a tool message: the call it answers. */
                tool_call_id?: string;
                refusal?: string | null;
                reasoning_content?: string | null;
            } & {
                [key: string]: unknown;
            })[];
            /** @description Sampling temperature. */
            temperature?: number;
            /** @description Most tokens in the answer. */
            max_tokens?: number;
            /** @description The newer name of max_tokens. */
            max_completion_tokens?: number;
            /** @default false */
            stream: boolean;
            stream_options?: {
                /** @description A last chunk with usage alone. */
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
            /** @description Against frequent tokens. */
            frequency_penalty?: number;
            /** @description Against tokens already present. */
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
        } & {
            [key: string]: unknown;
        };
        ChatCompletion: {
            /** @description The gateway's own id, that of the usage row. */
            id: string;
            /** @enum {string} */
            object: "chat.completion";
            /** @description Unix seconds. */
            created: number;
            /** @description The model ID that was asked for. */
            model: string;
            choices: {
                index: number;
                message: {
                    /** @description Who speaks. `developer` means the same as `system`. */
                    role: "system" | "developer" | "user" | "assistant" | "tool";
                    /** @description Text, null (assistant with tool calls), or a list of text, image_url, input_audio, file parts. */
                    content?: unknown;
                    name?: string;
                    /** @description Calls of an assistant message. */
                    tool_calls?: unknown[];
                    /** @description On a tool message: the call it answers. */
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
                /** @description Includes cached ones. */
                prompt_tokens: number;
                /** @description Includes reasoning. */
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
                        /** @description By store: `database`, and `redis` where it is configured. */
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
                        /** @description By store: `database`, and `redis` where it is configured. */
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
                     * @description `turnpike-cli`, `turnpike-ide`, or one of the configuration.
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
                     * @description `turnpike-cli`, `turnpike-ide`, or one of the configuration.
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
                        /** @description For a QR code. It approves nothing by itself. */
                        verification_uri_complete: string;
                        /** @description Seconds. */
                        expires_in: number;
                        /** @description Seconds between polls. */
                        interval: number;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": {
                        /** @description One of RFC 6749, 5.2, RFC 8628, 3.5. */
                        error: string;
                        /** @description For people; may change. */
                        error_description: string;
                    };
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
            "5XX": {
                content: {
                    "application/json": {
                        /** @description One of RFC 6749, 5.2, RFC 8628, 3.5. */
                        error: string;
                        /** @description For people; may change. */
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
                        /** @description With the scope `offline_access`. */
                        refresh_token?: string;
                        /** @description What was granted. */
                        scope: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": {
                        /** @description One of RFC 6749, 5.2, RFC 8628, 3.5. */
                        error: string;
                        /** @description For people; may change. */
                        error_description: string;
                    };
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
            "5XX": {
                content: {
                    "application/json": {
                        /** @description One of RFC 6749, 5.2, RFC 8628, 3.5. */
                        error: string;
                        /** @description For people; may change. */
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
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": {
                        /** @description One of RFC 6749, 5.2, RFC 8628, 3.5. */
                        error: string;
                        /** @description For people; may change. */
                        error_description: string;
                    };
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
            "5XX": {
                content: {
                    "application/json": {
                        /** @description One of RFC 6749, 5.2, RFC 8628, 3.5. */
                        error: string;
                        /** @description For people; may change. */
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
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": {
                        /** @description One of RFC 6749, 5.2, RFC 8628, 3.5. */
                        error: string;
                        /** @description For people; may change. */
                        error_description: string;
                    };
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
            "5XX": {
                content: {
                    "application/json": {
                        /** @description One of RFC 6749, 5.2, RFC 8628, 3.5. */
                        error: string;
                        /** @description For people; may change. */
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
                        /** @description For `/v1`, as a bearer token. */
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
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
            /** @description A form was sent: the page to go to is in `Location`. */
            303: {
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                        /** @description For `/v1`, as a bearer token. */
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
            /** @description A form was sent: the page to go to is in `Location`. */
            303: {
            };
            /** @description The link is wrong, old, or was used. A form gets a page that says so. */
            401: {
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": string;
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                        /** @description Who speaks. `developer` means the same as `system`. */
                        role: "system" | "developer" | "user" | "assistant" | "tool";
                        /** @description Text, null (assistant with tool calls), or a list of text, image_url, input_audio, file parts. */
                        content?: unknown;
                        name?: string;
                        /** @description Calls of an assistant message. */
                        tool_calls?: unknown[];
                        /** @description On a tool message: the call it answers. */
                        tool_call_id?: string;
                        refusal?: string | null;
                        reasoning_content?: string | null;
                    } & {
                        [key: string]: unknown;
                    })[];
                    /** @description Sampling temperature. */
                    temperature?: number;
                    /** @description Most tokens in the answer. */
                    max_tokens?: number;
                    /** @description The newer name of max_tokens. */
                    max_completion_tokens?: number;
                    /** @default false */
                    stream?: boolean;
                    stream_options?: {
                        /** @description A last chunk with usage alone. */
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
                    /** @description Against frequent tokens. */
                    frequency_penalty?: number;
                    /** @description Against tokens already present. */
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
                    "text/event-stream": string;
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                 * @description Only models that have it.
                 * @example vision
                 */
                capability?: "streaming" | "function_calling" | "vision" | "json_mode";
                /**
                 * @description Only models of this maker.
                 * @example openai
                 */
                owned_by?: string;
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
                            /** @description Unix seconds of the release; 0: not known. */
                            created: number;
                            /** @description Who made the model. */
                            owned_by: string;
                            /** @description For people. */
                            name: string;
                            capabilities: {
                                streaming: boolean;
                                function_calling: boolean;
                                vision: boolean;
                                json_mode: boolean;
                            };
                            /** @description Tokens of prompt and answer together. */
                            context_window: number;
                            /** @description The same as context_window, under the name that other tools read. */
                            context_length: number;
                            max_output_tokens: number | null;
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
                                    /** @description What the prompt has to exceed, cached tokens included. */
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
                                /** @description Rates by the service tier that the answer names; what is absent is as in the price. */
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
                                            /** @description What the prompt has to exceed, cached tokens included. */
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
                                    /** @description Time of day, UTC, not included; before `from`: of the next day. */
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
                                /** @description USD for each call of a provider. */
                                per_request_usd?: number;
                                /** @description USD for each image in the request. */
                                per_image_usd?: number;
                                /** @description USD per 1,000 uses of a tool that the provider runs. */
                                server_tools?: {
                                    [key: string]: number;
                                };
                                /** @description ISO 8601 UTC: when the price starts. */
                                starts?: string;
                                /** @description ISO 8601 UTC: when the price ends, not included. */
                                ends?: string;
                                /** @description The prices that are announced to follow, in order. */
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
                                        /** @description What the prompt has to exceed, cached tokens included. */
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
                                    /** @description Rates by the service tier that the answer names; what is absent is as in the price. */
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
                                                /** @description What the prompt has to exceed, cached tokens included. */
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
                                        /** @description Time of day, UTC, not included; before `from`: of the next day. */
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
                                    /** @description USD for each call of a provider. */
                                    per_request_usd?: number;
                                    /** @description USD for each image in the request. */
                                    per_image_usd?: number;
                                    /** @description USD per 1,000 uses of a tool that the provider runs. */
                                    server_tools?: {
                                        [key: string]: number;
                                    };
                                    /** @description ISO 8601 UTC: when the price starts. */
                                    starts?: string;
                                    /** @description ISO 8601 UTC: when the price ends, not included. */
                                    ends?: string;
                                }[];
                            } | null;
                            /** @description The ID that this one stands for. */
                            alias_of?: string;
                            architecture: {
                                input_modalities: string[];
                                output_modalities: string[];
                            };
                            /** @description Request fields that the model honours. */
                            supported_parameters: string[];
                            price_source: {
                                /** @description Where the price was read. */
                                url: string;
                                /** @description ISO date on which it was. */
                                read: string;
                            } | null;
                            /** @description Whether the operator has set the price, whatever the catalogue says. */
                            price_overridden: boolean;
                            /** @description Where it can be had, in the order in which they are tried: those that are not healthy come last. */
                            providers: {
                                /** @description The operator’s name for it. */
                                name: string;
                                /** @description Whether the process that answers would call it for this model now. */
                                healthy: boolean;
                            }[];
                            deprecation_date: string | null;
                            /** @description Whether that day has come. */
                            deprecated: boolean;
                            replacement: string | null;
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
            /** @description A model that this key may use. */
            200: {
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        object: "model";
                        /** @description Unix seconds of the release; 0: not known. */
                        created: number;
                        /** @description Who made the model. */
                        owned_by: string;
                        /** @description For people. */
                        name: string;
                        capabilities: {
                            streaming: boolean;
                            function_calling: boolean;
                            vision: boolean;
                            json_mode: boolean;
                        };
                        /** @description Tokens of prompt and answer together. */
                        context_window: number;
                        /** @description The same as context_window, under the name that other tools read. */
                        context_length: number;
                        max_output_tokens: number | null;
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
                                /** @description What the prompt has to exceed, cached tokens included. */
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
                            /** @description Rates by the service tier that the answer names; what is absent is as in the price. */
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
                                        /** @description What the prompt has to exceed, cached tokens included. */
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
                                /** @description Time of day, UTC, not included; before `from`: of the next day. */
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
                            /** @description USD for each call of a provider. */
                            per_request_usd?: number;
                            /** @description USD for each image in the request. */
                            per_image_usd?: number;
                            /** @description USD per 1,000 uses of a tool that the provider runs. */
                            server_tools?: {
                                [key: string]: number;
                            };
                            /** @description ISO 8601 UTC: when the price starts. */
                            starts?: string;
                            /** @description ISO 8601 UTC: when the price ends, not included. */
                            ends?: string;
                            /** @description The prices that are announced to follow, in order. */
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
                                    /** @description What the prompt has to exceed, cached tokens included. */
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
                                /** @description Rates by the service tier that the answer names; what is absent is as in the price. */
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
                                            /** @description What the prompt has to exceed, cached tokens included. */
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
                                    /** @description Time of day, UTC, not included; before `from`: of the next day. */
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
                                /** @description USD for each call of a provider. */
                                per_request_usd?: number;
                                /** @description USD for each image in the request. */
                                per_image_usd?: number;
                                /** @description USD per 1,000 uses of a tool that the provider runs. */
                                server_tools?: {
                                    [key: string]: number;
                                };
                                /** @description ISO 8601 UTC: when the price starts. */
                                starts?: string;
                                /** @description ISO 8601 UTC: when the price ends, not included. */
                                ends?: string;
                            }[];
                        } | null;
                        /** @description The ID that this one stands for. */
                        alias_of?: string;
                        architecture: {
                            input_modalities: string[];
                            output_modalities: string[];
                        };
                        /** @description Request fields that the model honours. */
                        supported_parameters: string[];
                        price_source: {
                            /** @description Where the price was read. */
                            url: string;
                            /** @description ISO date on which it was. */
                            read: string;
                        } | null;
                        /** @description Whether the operator has set the price, whatever the catalogue says. */
                        price_overridden: boolean;
                        /** @description Where it can be had, in the order in which they are tried: those that are not healthy come last. */
                        providers: {
                            /** @description The operator’s name for it. */
                            name: string;
                            /** @description Whether the process that answers would call it for this model now. */
                            healthy: boolean;
                        }[];
                        deprecation_date: string | null;
                        /** @description Whether that day has come. */
                        deprecated: boolean;
                        replacement: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                /** @description active: neither revoked nor expired. expired: not revoked, but past its `expires_at`. */
                status?: "active" | "revoked" | "expired" | "all";
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
                            /** @description What the secret starts with. */
                            prefix: string;
                            /** @description What it ends with. */
                            last4: string;
                            scopes: ("chat" | "models:read" | "usage:read" | "agents:read" | "agents:write" | "webhooks" | "keys" | "members" | "billing" | "operator")[];
                            ip_allowlist: string[];
                            monthly_budget_usd: number | null;
                            requests_per_minute: number | null;
                            models: string[];
                            created_at: string;
                            last_used_at: string | null;
                            expires_at: string | null;
                            revoked_at: string | null;
                            /** @description The person who made it, and whose rights bound its own. Null: it is nobody’s. */
                            created_by: {
                                user_id: string;
                                email: string;
                                name: string;
                            } | null;
                            /** @description The key that created it: its limits bound this one, and its budget and rate are shared. Null: none. */
                            parent_id: string | null;
                            /** @description Of the budget, in this calendar month, UTC, by it and the keys it created. Null: it has none. */
                            spent_usd: number | null;
                            /** @description ISO 8601: when the budget starts again. Null: it has none. */
                            resets_at: string | null;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                    /** @description Empty: full access. */
                    scopes?: ("chat" | "models:read" | "usage:read" | "agents:read" | "agents:write" | "webhooks" | "keys" | "members" | "billing" | "operator")[];
                    /** @description Addresses and CIDR blocks; empty: from anywhere. */
                    ip_allowlist?: string[];
                    monthly_budget_usd?: number | null;
                    requests_per_minute?: number | null;
                    /** @description Empty: all. */
                    models?: string[];
                    /**
                     * @description ISO 8601, in the future. Null: never.
                     * @example 2030-01-01T00:00:00Z
                     */
                    expires_at?: string | null;
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
                        /** @description What the secret starts with. */
                        prefix: string;
                        /** @description What it ends with. */
                        last4: string;
                        scopes: ("chat" | "models:read" | "usage:read" | "agents:read" | "agents:write" | "webhooks" | "keys" | "members" | "billing" | "operator")[];
                        ip_allowlist: string[];
                        monthly_budget_usd: number | null;
                        requests_per_minute: number | null;
                        models: string[];
                        created_at: string;
                        last_used_at: string | null;
                        expires_at: string | null;
                        revoked_at: string | null;
                        /** @description The person who made it, and whose rights bound its own. Null: it is nobody’s. */
                        created_by: {
                            user_id: string;
                            email: string;
                            name: string;
                        } | null;
                        /** @description The key that created it: its limits bound this one, and its budget and rate are shared. Null: none. */
                        parent_id: string | null;
                        /** @description Of the budget, in this calendar month, UTC, by it and the keys it created. Null: it has none. */
                        spent_usd: number | null;
                        /** @description ISO 8601: when the budget starts again. Null: it has none. */
                        resets_at: string | null;
                        /** @description The secret, shown this once. */
                        key: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                        /** @description What the secret starts with. */
                        prefix: string;
                        /** @description What it ends with. */
                        last4: string;
                        scopes: ("chat" | "models:read" | "usage:read" | "agents:read" | "agents:write" | "webhooks" | "keys" | "members" | "billing" | "operator")[];
                        ip_allowlist: string[];
                        monthly_budget_usd: number | null;
                        requests_per_minute: number | null;
                        models: string[];
                        created_at: string;
                        last_used_at: string | null;
                        expires_at: string | null;
                        revoked_at: string | null;
                        /** @description The person who made it, and whose rights bound its own. Null: it is nobody’s. */
                        created_by: {
                            user_id: string;
                            email: string;
                            name: string;
                        } | null;
                        /** @description The key that created it: its limits bound this one, and its budget and rate are shared. Null: none. */
                        parent_id: string | null;
                        /** @description Of the budget, in this calendar month, UTC, by it and the keys it created. Null: it has none. */
                        spent_usd: number | null;
                        /** @description ISO 8601: when the budget starts again. Null: it has none. */
                        resets_at: string | null;
                        /** @description Active keys that it created, and that these created: revoked with it. */
                        created_keys: number;
                        /** @description Enabled webhooks that these created: disabled when it is revoked. */
                        created_webhooks: number;
                        /** @description Settled ones; counted by the hour, the begun one before included. */
                        requests_last_24h: number;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                /** @description false: the keys that it created stay, bound by its limits as before. */
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
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                    /** @description Empty: full access. */
                    scopes?: ("chat" | "models:read" | "usage:read" | "agents:read" | "agents:write" | "webhooks" | "keys" | "members" | "billing" | "operator")[];
                    /** @description Addresses and CIDR blocks; empty: from anywhere. */
                    ip_allowlist?: string[];
                    monthly_budget_usd?: number | null;
                    requests_per_minute?: number | null;
                    /** @description Empty: all. */
                    models?: string[];
                    /**
                     * @description ISO 8601, in the future. Null: never.
                     * @example 2030-01-01T00:00:00Z
                     */
                    expires_at?: string | null;
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
                        /** @description What the secret starts with. */
                        prefix: string;
                        /** @description What it ends with. */
                        last4: string;
                        scopes: ("chat" | "models:read" | "usage:read" | "agents:read" | "agents:write" | "webhooks" | "keys" | "members" | "billing" | "operator")[];
                        ip_allowlist: string[];
                        monthly_budget_usd: number | null;
                        requests_per_minute: number | null;
                        models: string[];
                        created_at: string;
                        last_used_at: string | null;
                        expires_at: string | null;
                        revoked_at: string | null;
                        /** @description The person who made it, and whose rights bound its own. Null: it is nobody’s. */
                        created_by: {
                            user_id: string;
                            email: string;
                            name: string;
                        } | null;
                        /** @description The key that created it: its limits bound this one, and its budget and rate are shared. Null: none. */
                        parent_id: string | null;
                        /** @description Of the budget, in this calendar month, UTC, by it and the keys it created. Null: it has none. */
                        spent_usd: number | null;
                        /** @description ISO 8601: when the budget starts again. Null: it has none. */
                        resets_at: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                 * @description ISO 8601 UTC; default: the first of this month.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_start?: string;
                /**
                 * @description ISO 8601 UTC, not included; default: the first of the next month.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_end?: string;
                /** @description Adds `groups`: by model, by API key, by UTC day, or by agent. Completions outside agents are in no agent’s group. */
                group_by?: "model" | "key" | "day" | "agent";
                /** @description Adds `series`: the same sums by UTC hour, for periods of at most 32 days, or by UTC day, for at most 400. Without `group_by`, by model or by API key; a CSV file has none. */
                interval?: "hour" | "day";
                /** @description Only this model, in everything that is reported. */
                model?: string;
                /** @description Only what was asked with this API key, in everything that is reported. */
                key_id?: string;
                /** @description `csv` is a file of the groups alone, without `group_by` those by model. */
                format?: "json" | "csv";
            };
        };
        responses: {
            /** @description The report. */
            200: {
                content: {
                    "application/json": {
                        /** @description ISO 8601 UTC. */
                        period_start: string;
                        /** @description ISO 8601 UTC, not included. */
                        period_end: string;
                        /** @description Prompt and completion tokens. */
                        total_tokens: number;
                        /** @description Those of prompts. */
                        total_prompt_tokens: number;
                        /** @description Those that were generated. */
                        total_completion_tokens: number;
                        /** @description Completions, those that failed or cost nothing included. */
                        total_requests: number;
                        /** @description USD, at most 9 decimals. The exact sum of the completions’ costs. */
                        total_cost_usd: number;
                        /** @description The balance, now. Without a limit: `unlimited_credit_usd` of the plan, whatever was spent. */
                        credit_remaining_usd: number;
                        /** @description Whether nothing limits what may be spent: the plan is billed after the fact. */
                        unlimited: boolean;
                        /** @description What of it is reserved by requests in flight. */
                        held_usd: number;
                        /** @description The most expensive first. */
                        breakdown_by_model: {
                            model: string;
                            /** @description Prompt and completion tokens. */
                            tokens: number;
                            /** @description USD, at most 9 decimals. The exact sum of the completions’ costs. */
                            cost_usd: number;
                        }[];
                        /** @description With `group_by` only. Days in order, everything else the most expensive first. */
                        groups?: {
                            /** @description The model’s ID, the API key’s id, the day as 2026-01-31, or the agent’s id. */
                            key: string;
                            /** @description By key and agent: the key’s or agent’s name, the device, the person’s e-mail address. Null: gone. */
                            name?: string | null;
                            /** @description Prompt and completion tokens. */
                            tokens: number;
                            /** @description Completions, those that failed or cost nothing included. */
                            requests: number;
                            /** @description USD, at most 9 decimals. The exact sum of the completions’ costs. */
                            cost_usd: number;
                        }[];
                        /** @description With `interval` only: what adds up to the groups and to the total, to the last digit. Hours and days without a completion are left out. */
                        series?: {
                            /** @description ISO 8601 UTC: the first moment of the hour or day. */
                            at: string;
                            /** @description `key` of the group; `all` without `group_by`; empty: all but the 50 most expensive groups. */
                            key: string;
                            /** @description Prompt and completion tokens. */
                            tokens: number;
                            /** @description Completions, those that failed or cost nothing included. */
                            requests: number;
                            /** @description USD, at most 9 decimals. The exact sum of the completions’ costs. */
                            cost_usd: number;
                            prompt_tokens: number;
                            completion_tokens: number;
                        }[];
                    };
                    "text/csv": string;
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                 * @description ISO 8601 UTC; default: a day before `period_end`.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_start?: string;
                /**
                 * @description ISO 8601 UTC, not included; default: now. At most 7 days after `period_start`.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_end?: string;
                /** @description What `groups` are of. */
                group_by?: "model" | "provider";
                /** @description `hours`: adds to each group how each of its hours went. */
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
                        /** @description ISO 8601 UTC, not included. */
                        period_end: string;
                        /** @description Whether there were more than 5000 completions: all of this is about the newest 5000. */
                        sampled: boolean;
                        /** @description Those with the most requests first. */
                        groups: {
                            /** @description The model’s ID, or the provider by its name in the configuration. */
                            key: string;
                            /** @description Completions, whatever became of them. */
                            requests: number;
                            /** @description Those that failed or that the provider broke off. */
                            failed: number;
                            /** @description Completed ÷ (completed + failed), 0 to 1: clients that left do not count. Null: all of them did. */
                            success_rate: number | null;
                            /** @description From the request’s arrival to the first byte, of streams alone. Null: there was none. */
                            first_byte_ms: {
                                /** @description Milliseconds. */
                                p50: number;
                                /** @description Milliseconds. */
                                p95: number;
                            } | null;
                            /** @description From the request’s arrival to the end, of those that completed. Null: none did. */
                            duration_ms: {
                                /** @description Milliseconds. */
                                p50: number;
                                /** @description Milliseconds. */
                                p95: number;
                            } | null;
                            /** @description Only with `include=hours`: by UTC hour, in order. Hours without a completion are left out. */
                            hours?: {
                                /** @description ISO 8601 UTC: the first moment of the hour. */
                                at: string;
                                /** @description Completions of the group in this hour, whatever became of them. */
                                requests: number;
                                /** @description Those that failed or that the provider broke off. */
                                failed: number;
                            }[];
                        }[];
                        /** @description By UTC hour, in order. Hours without a completion are left out. */
                        series: {
                            /** @description ISO 8601 UTC: the first moment of the hour. */
                            at: string;
                            /** @description From the request’s arrival to the first byte, of streams alone. Null: there was none. */
                            first_byte_ms_p50: number | null;
                            /** @description From the request’s arrival to the first byte, of streams alone. Null: there was none. */
                            first_byte_ms_p95: number | null;
                            /** @description Completions that were looked at, whatever became of them. */
                            requests: number;
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                 * @description ISO 8601 UTC: only completions created at or after it.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_start?: string;
                /**
                 * @description ISO 8601 UTC: only completions created before it.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_end?: string;
                /** @description Only this model, by the ID in its rows. */
                model?: string;
                /** @description Only requests of this API key, device or signed-in person. */
                key_id?: string;
                /** @description Only completions with this status. */
                status?: "completed" | "failed" | "client_left" | "incomplete";
                /** @description Only requests of this agent. */
                agent_id?: string;
                /** @description Only completions of this provider, by its name in the configuration. Needs a period of at most 7 days. */
                provider?: string;
                /** @description Only requests with this name, given by the client. Needs a period of at most 7 days. */
                client_request_id?: string;
                /** @description `overview`: adds a histogram of what is listed, over the period, else over the last 24 hours. A CSV file has none. */
                include?: "overview";
                /** @description `csv` is a file of what is listed. Without it the `Accept` header decides; `application/json` is preferred. */
                format?: "json" | "csv";
                /** @description Items in the page: 1 to 100, by default 20. Rows of a CSV file: 1 to 10000, by default as many. */
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
                    /** @description Of a file that could go on: its `next_cursor`. */
                    "x-next-cursor"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            /** @description The `id` of the answer. */
                            id: string;
                            /** @enum {string} */
                            object: "completion";
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                            /** @description The id of the API key, device or person that made the request. */
                            key_id: string;
                            /** @description The key’s name, the device, or the person’s e-mail address. Null: deleted. */
                            key_name: string | null;
                            /** @description The model’s ID, also where the request named an alias. */
                            model: string;
                            /** @description The provider that answered, by its name in the configuration. */
                            provider: string;
                            /**
                             * @description completed: the client got a whole answer. failed: nothing was generated for it. incomplete: the provider broke off. client_left: the client did.
                             * @enum {string}
                             */
                            status: "completed" | "failed" | "client_left" | "incomplete";
                            stream: boolean;
                            /** @description Of the first choice. Null: none was given. */
                            finish_reason: string | null;
                            /** @description Cached ones included. */
                            prompt_tokens: number;
                            /** @description Reasoning included. */
                            completion_tokens: number;
                            /** @description Prompt tokens read from the provider’s cache. */
                            cached_tokens: number;
                            /** @description Prompt tokens written to the provider’s cache. */
                            cache_write_tokens: number;
                            /** @description Completion tokens that were reasoning, where the provider says so. */
                            reasoning_tokens: number;
                            /** @description USD, at most 9 decimals. What this completion was charged. */
                            cost_usd: number;
                            /**
                             * @description Who counted the tokens: the provider, or Turnpike where the provider’s count did not arrive. bounded: the provider reported more than the request can have used, or less than was delivered; the nearest possible figures are charged.
                             * @enum {string}
                             */
                            usage_source: "provider" | "estimated" | "bounded";
                            /** @description USD, at most 9 decimals. What its tokens cost beyond `cost_usd`: not charged, since the account’s overrun cap was reached. */
                            unbilled_usd: number;
                            /** @description The price it was charged at; it never changes. */
                            price_version: string;
                            /** @description From the request’s arrival to the end of the answer. */
                            duration_ms: number;
                            /** @description From the request’s arrival to the first byte. Null: there was none. */
                            first_byte_ms: number | null;
                            /** @description Calls made to providers. */
                            attempts: number;
                            /** @description The calls in order, the newest 10. A single call that answered is told from the row: the model by its ID, the time to the first byte of the whole request. Empty: not known. */
                            attempt_log: {
                                /** @description The provider that was called, by its name in the configuration. */
                                provider: string;
                                /** @description The model by the provider’s own name. */
                                model: string;
                                /**
                                 * @description answered: its answer began, and nothing broke it off. cut: the provider broke it off. abandoned: the client left or Turnpike ended the request before there was an answer. rejected: the provider refused the request itself. Else why it gave no answer: it refused the operator’s credentials or was out of quota, limited their rate, did not know the model, was overloaded, or failed.
                                 * @enum {string}
                                 */
                                outcome: "answered" | "abandoned" | "rejected" | "credentials" | "quota" | "rate_limited" | "not_found" | "overloaded" | "failed" | "cut";
                                /** @description HTTP status of the provider’s answer. Null: there was none. */
                                status: number | null;
                                /** @description From the request’s arrival to the call. */
                                started_ms: number;
                                /** @description From the call to the first event of its answer, or to its failure. */
                                duration_ms: number;
                            }[];
                            /** @description The client’s name for its request. Null: none was given. */
                            client_request_id: string | null;
                            /** @description The agent that made the request. Null: none. */
                            agent_id: string | null;
                            /** @description The run of the agent. */
                            run_id: string | null;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                        overview?: {
                            /** @description ISO 8601 UTC. */
                            period_start: string;
                            /** @description ISO 8601 UTC, not included. */
                            period_end: string;
                            /**
                             * @description The unit of a bucket.
                             * @enum {string}
                             */
                            interval: "minute" | "hour" | "day";
                            /** @description How many of them a bucket is long. */
                            width: number;
                            /** @description All of the period, in order, empty ones too; only what is in the period is counted. At most 91. */
                            buckets: {
                                /** @description ISO 8601 UTC: its first moment; the first bucket may begin before the period. */
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
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                        /** @description The `id` of the answer. */
                        id: string;
                        /** @enum {string} */
                        object: "completion";
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description The id of the API key, device or person that made the request. */
                        key_id: string;
                        /** @description The key’s name, the device, or the person’s e-mail address. Null: deleted. */
                        key_name: string | null;
                        /** @description The model’s ID, also where the request named an alias. */
                        model: string;
                        /** @description The provider that answered, by its name in the configuration. */
                        provider: string;
                        /**
                         * @description completed: the client got a whole answer. failed: nothing was generated for it. incomplete: the provider broke off. client_left: the client did.
                         * @enum {string}
                         */
                        status: "completed" | "failed" | "client_left" | "incomplete";
                        stream: boolean;
                        /** @description Of the first choice. Null: none was given. */
                        finish_reason: string | null;
                        /** @description Cached ones included. */
                        prompt_tokens: number;
                        /** @description Reasoning included. */
                        completion_tokens: number;
                        /** @description Prompt tokens read from the provider’s cache. */
                        cached_tokens: number;
                        /** @description Prompt tokens written to the provider’s cache. */
                        cache_write_tokens: number;
                        /** @description Completion tokens that were reasoning, where the provider says so. */
                        reasoning_tokens: number;
                        /** @description USD, at most 9 decimals. What this completion was charged. */
                        cost_usd: number;
                        /**
                         * @description Who counted the tokens: the provider, or Turnpike where the provider’s count did not arrive. bounded: the provider reported more than the request can have used, or less than was delivered; the nearest possible figures are charged.
                         * @enum {string}
                         */
                        usage_source: "provider" | "estimated" | "bounded";
                        /** @description USD, at most 9 decimals. What its tokens cost beyond `cost_usd`: not charged, since the account’s overrun cap was reached. */
                        unbilled_usd: number;
                        /** @description The price it was charged at; it never changes. */
                        price_version: string;
                        /** @description From the request’s arrival to the end of the answer. */
                        duration_ms: number;
                        /** @description From the request’s arrival to the first byte. Null: there was none. */
                        first_byte_ms: number | null;
                        /** @description Calls made to providers. */
                        attempts: number;
                        /** @description The calls in order, the newest 10. A single call that answered is told from the row: the model by its ID, the time to the first byte of the whole request. Empty: not known. */
                        attempt_log: {
                            /** @description The provider that was called, by its name in the configuration. */
                            provider: string;
                            /** @description The model by the provider’s own name. */
                            model: string;
                            /**
                             * @description answered: its answer began, and nothing broke it off. cut: the provider broke it off. abandoned: the client left or Turnpike ended the request before there was an answer. rejected: the provider refused the request itself. Else why it gave no answer: it refused the operator’s credentials or was out of quota, limited their rate, did not know the model, was overloaded, or failed.
                             * @enum {string}
                             */
                            outcome: "answered" | "abandoned" | "rejected" | "credentials" | "quota" | "rate_limited" | "not_found" | "overloaded" | "failed" | "cut";
                            /** @description HTTP status of the provider’s answer. Null: there was none. */
                            status: number | null;
                            /** @description From the request’s arrival to the call. */
                            started_ms: number;
                            /** @description From the call to the first event of its answer, or to its failure. */
                            duration_ms: number;
                        }[];
                        /** @description The client’s name for its request. Null: none was given. */
                        client_request_id: string | null;
                        /** @description The agent that made the request. Null: none. */
                        agent_id: string | null;
                        /** @description The run of the agent. */
                        run_id: string | null;
                        /** @description How the cost came about. Null: the price is not known, the charge was corrected since, or the tokens were not what was charged, as where it failed. */
                        pricing: {
                            /** @description The price that it was charged at. */
                            price_version: string;
                            /** @description USD per million tokens. */
                            input_per_million: number;
                            /** @description USD per million tokens. Null: as input. */
                            cached_input_per_million: number | null;
                            /** @description USD per million tokens. Null: as input. */
                            cache_write_per_million: number | null;
                            /** @description USD per million tokens. */
                            output_per_million: number;
                            /** @description What of the price applied: `base` is the price itself; `above_200000` a tier, `flex` a service tier, `discount` a time of day, `cache_write_1h` a lifetime of cache writes; several are joined by `+`. */
                            rule: string;
                            /** @description Their sum, rounded up to the next nano-dollar, is `cost_usd` of the completion. */
                            lines: {
                                /**
                                 * @description input: prompt tokens that have no line of their own; output: completion tokens likewise. request, image and server_tool are fees: their `tokens` are 0.
                                 * @enum {string}
                                 */
                                kind: "input" | "cached_input" | "cache_write" | "cache_write_1h" | "cache_write_12h" | "audio_input" | "cached_audio_input" | "output" | "reasoning_output" | "audio_output" | "image_output" | "request" | "image" | "server_tool";
                                /** @description Of a server tool. */
                                name?: string;
                                tokens: number;
                                /** @description The threshold above which these tokens are, of a tier that prices the excess. */
                                above_prompt_tokens?: number;
                                /** @description Of tokens; 0 of fees. */
                                usd_per_million: number;
                                /** @description Of fees. */
                                uses?: number;
                                /** @description Of fees. */
                                usd_per_use?: number;
                                /** @description USD, exact: at most 12 decimals. */
                                cost_usd: number;
                            }[];
                        } | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                /** @description Only this model, by the ID in its rows. */
                model?: string;
                /** @description Only requests of this API key, device or signed-in person. */
                key_id?: string;
                /** @description Only completions with this status. */
                status?: "completed" | "failed" | "client_left" | "incomplete";
                /** @description Only requests of this agent. */
                agent_id?: string;
                /** @description Only completions of this provider, by its name in the configuration. */
                provider?: string;
                /** @description Only requests with this name, given by the client. */
                client_request_id?: string;
                /** @description As the header `Last-Event-ID`, which counts where both are given. */
                after?: string;
            };
            header?: {
                /** @description The id of the last completion received. */
                "last-event-id"?: string;
            };
        };
        responses: {
            /** @description Completions. */
            200: {
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                /** @description Only rows of this kind. */
                kind?: "grant" | "purchase" | "charge" | "refund" | "debit" | "expiry";
                /**
                 * @description ISO 8601 UTC: only rows made at or after it.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_start?: string;
                /**
                 * @description ISO 8601 UTC: only rows made before it.
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
                             * @description grant: given, the monthly allowance too. purchase: paid for. charge: a completion. refund: given back. debit: taken away by the operator, such as a chargeback. expiry: what was left of an allowance.
                             * @enum {string}
                             */
                            kind: "grant" | "purchase" | "charge" | "refund" | "debit" | "expiry";
                            /** @description USD, at most 9 decimals; below zero for what is taken away. */
                            amount_usd: number;
                            /** @description USD after it. */
                            balance_usd: number;
                            /** @description Of a charge: the completion. */
                            completion_id: string | null;
                            /** @description Of a charge: the API key of the request. */
                            key_id: string | null;
                            /** @description Of a charge: the price it was made at. */
                            price_version: string | null;
                            /** @description The row that this one corrects. */
                            adjusts: string | null;
                            /** @description Why. */
                            note: string | null;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                 * @description ISO 8601 UTC, the beginning of a day; default: the first of this month.
                 * @example 2026-01-01T00:00:00Z
                 */
                period_start?: string;
                /**
                 * @description ISO 8601 UTC, the beginning of a day, not included; default: the first of the next month.
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
                        /** @description ISO 8601 UTC, not included. */
                        period_end: string;
                        /** @description USD, at most 9 decimals. The balance before the period. */
                        opening_usd: number;
                        /** @description USD, at most 9 decimals. Given, monthly allowances too. */
                        grants_usd: number;
                        /** @description USD, at most 9 decimals. Paid for. */
                        purchases_usd: number;
                        /** @description USD, at most 9 decimals. Given back. */
                        refunds_usd: number;
                        /** @description USD, at most 9 decimals. Taken away by the operator; zero or below. */
                        debits_usd: number;
                        /** @description USD, at most 9 decimals. For completions, and corrections upwards; zero or below. */
                        charges_usd: number;
                        /** @description USD, at most 9 decimals. What was left of allowances; zero or below. */
                        expiries_usd: number;
                        /** @description USD, at most 9 decimals. The balance after the period, or now: the opening and all of the above, exactly. */
                        closing_usd: number;
                        /** @description Usage by when completions began, the most expensive first. A charge is made when a completion has ended, which may be after the period; corrections are in no model’s cost. */
                        by_model: {
                            model: string;
                            requests: number;
                            /** @description Prompt and completion tokens. */
                            tokens: number;
                            /** @description USD, at most 9 decimals. As `GET /v1/usage` reports it. */
                            cost_usd: number;
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                /** @description Audits the account as well. */
                deep?: "true" | "false";
                /**
                 * @description Of a partial audit: goes on with it. Only with `deep`.
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
                        /** @description Whether rows, rollups and ledger agree, and balance and holds match them. */
                        ok: boolean;
                        /** @description USD. What completions cost. */
                        rows_usd: number;
                        /** @description USD. The same, from the sums that reports are made of. */
                        rollups_usd: number;
                        /** @description USD. What was charged for them, before corrections. */
                        ledger_usd: number;
                        /** @description USD. The account’s balance. */
                        balance_usd: number;
                        /** @description USD. The sum of its ledger. */
                        expected_balance_usd: number;
                        /** @description USD. Reserved by requests in flight. */
                        held_usd: number;
                        /** @description USD. The sum of their holds. */
                        open_holds_usd: number;
                        audit?: {
                            /** @enum {string} */
                            status: "partial" | "complete";
                            /** @description Of a partial audit: sent as `cursor`, it goes on. */
                            cursor: string | null;
                            /** @description ISO 8601 UTC. The account is audited as of then. */
                            started_at: string;
                            /** @description ISO 8601 UTC. */
                            ended_at: string | null;
                            /** @description That are done. */
                            accounts: number;
                            /** @description Rows of the ledger and completions that were read. */
                            rows: number;
                            findings_count: number;
                            findings: {
                                account_id: string;
                                /** @description ledger_gap, ledger_sides, ledger_time, ledger_balance, ledger_altered, balance, held, spent, key_spent, key_held, allowance, allowance_grant, cost, price_version, charge, charge_missing, charge_repeated, completion_missing, correction, retired, rollup_hour, rollup_day, invoice */
                                kind: string;
                                /** @description A row of the ledger, a completion, a key, an hour or day, an invoice. */
                                subject: string;
                                /** @description What the audit computes; amounts in nano-dollars. */
                                expected: string;
                                /** @description What is kept. */
                                actual: string;
                            }[];
                        };
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                            /** @description Of the account’s invoices, from 1 without gaps. */
                            number: number;
                            account: {
                                id: string;
                                /** @description When the invoice was closed. */
                                name: string;
                            };
                            /** @enum {string} */
                            status: "closed";
                            /** @enum {string} */
                            currency: "USD";
                            /** @description ISO 8601 UTC. The first of the month. */
                            period_start: string;
                            /** @description ISO 8601 UTC. The first of the next, not included. */
                            period_end: string;
                            /** @description USD, at most 9 decimals. Credit before the first movement. */
                            opening_balance_usd: number;
                            /** @description USD, at most 9 decimals. Credit after the last: the opening balance and the credits, less the total. */
                            closing_balance_usd: number;
                            /** @description USD, at most 9 decimals. What the month was charged: lines and adjustments. */
                            total_usd: number;
                            /** @description ISO 8601 UTC. The invoice has not changed since. */
                            closed_at: string;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                /** @description `html` is a page to print. Without it the `Accept` header decides, and JSON where that leaves it open. */
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
                        /** @description Of the account’s invoices, from 1 without gaps. */
                        number: number;
                        account: {
                            id: string;
                            /** @description When the invoice was closed. */
                            name: string;
                        };
                        /** @enum {string} */
                        status: "closed";
                        /** @enum {string} */
                        currency: "USD";
                        /** @description ISO 8601 UTC. The first of the month. */
                        period_start: string;
                        /** @description ISO 8601 UTC. The first of the next, not included. */
                        period_end: string;
                        /** @description USD, at most 9 decimals. Credit before the first movement. */
                        opening_balance_usd: number;
                        /** @description USD, at most 9 decimals. Credit after the last: the opening balance and the credits, less the total. */
                        closing_balance_usd: number;
                        /** @description USD, at most 9 decimals. What the month was charged: lines and adjustments. */
                        total_usd: number;
                        /** @description ISO 8601 UTC. The invoice has not changed since. */
                        closed_at: string;
                        /** @description The most expensive model first. */
                        lines: {
                            model: string;
                            /** @description Completions that cost something. */
                            requests: number;
                            prompt_tokens: number;
                            completion_tokens: number;
                            /** @description USD, at most 9 decimals. */
                            cost_usd: number;
                        }[];
                        adjustments: {
                            /** @description The row of the ledger. */
                            id: string;
                            /** @enum {string} */
                            kind: "grant" | "purchase" | "charge" | "refund" | "debit" | "expiry";
                            /** @description Why. */
                            note: string | null;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                            /** @description USD, at most 9 decimals. Above zero: charged in addition. Below: taken off. */
                            amount_usd: number;
                            /** @description The row of the ledger that it corrects. */
                            adjusts: string | null;
                            /** @description The completion that was charged. */
                            completion_id: string | null;
                        }[];
                        /** @description Rows that are too many to be listed; `GET /ledger` has them. */
                        unlisted_adjustments: {
                            entries: number;
                            /** @description USD, at most 9 decimals. */
                            amount_usd: number;
                        };
                        credits: {
                            /** @description The row of the ledger. */
                            id: string;
                            /** @enum {string} */
                            kind: "grant" | "purchase" | "charge" | "refund" | "debit" | "expiry";
                            /** @description Why. */
                            note: string | null;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                            /** @description USD, at most 9 decimals. Above zero: given. Below: expired. */
                            amount_usd: number;
                        }[];
                        /** @description Rows that are too many to be listed; `GET /ledger` has them. */
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
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description Null: no limit. */
                        monthly_budget_usd: number | null;
                        alert_thresholds: number[];
                        /** @description What of the balance is left of the month’s credit, and expires with it. */
                        allowance_usd: number;
                        /** @description Those of its plan. */
                        limits: {
                            /** @description Requests a minute. Null: no limit. */
                            requests_per_minute: number | null;
                            /** @description Tokens a minute. Null: no limit. */
                            tokens_per_minute: number | null;
                            /** @description Requests at once. */
                            max_in_flight: number;
                        };
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                    /** @description The most that the account may spend in a calendar month, UTC; at most 9 decimals. Null: no limit. */
                    monthly_budget_usd?: number | null;
                    /** @description Percentages of the budget, or of the month’s credit, at which to be alerted; ascending. */
                    alert_thresholds?: number[];
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
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description Null: no limit. */
                        monthly_budget_usd: number | null;
                        alert_thresholds: number[];
                        /** @description What of the balance is left of the month’s credit, and expires with it. */
                        allowance_usd: number;
                        /** @description Those of its plan. */
                        limits: {
                            /** @description Requests a minute. Null: no limit. */
                            requests_per_minute: number | null;
                            /** @description Tokens a minute. Null: no limit. */
                            tokens_per_minute: number | null;
                            /** @description Requests at once. */
                            max_in_flight: number;
                        };
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                /** @description Part of the name, whether in capitals or not, or a whole id; 1 to 100 characters. */
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
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                            /** @description As of its last request, or the last time that somebody looked at it. */
                            balance_usd: number;
                            /** @description Of it, reserved by requests in flight. */
                            held_usd: number;
                            /** @description In this calendar month, UTC. */
                            spent_this_month_usd: number;
                            /** @description People who belong to it. */
                            members: number;
                            /** @description How far the balance may fall below zero where a provider used more than was reserved, in USD. Null: as its plan says. */
                            max_overrun_usd: number | null;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                    /** @description Default: `accounts.default_plan`. */
                    plan?: string;
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
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description As of its last request, or the last time that somebody looked at it. */
                        balance_usd: number;
                        /** @description Of it, reserved by requests in flight. */
                        held_usd: number;
                        /** @description In this calendar month, UTC. */
                        spent_this_month_usd: number;
                        /** @description People who belong to it. */
                        members: number;
                        /** @description How far the balance may fall below zero where a provider used more than was reserved, in USD. Null: as its plan says. */
                        max_overrun_usd: number | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description As of its last request, or the last time that somebody looked at it. */
                        balance_usd: number;
                        /** @description Of it, reserved by requests in flight. */
                        held_usd: number;
                        /** @description In this calendar month, UTC. */
                        spent_this_month_usd: number;
                        /** @description People who belong to it. */
                        members: number;
                        /** @description How far the balance may fall below zero where a provider used more than was reserved, in USD. Null: as its plan says. */
                        max_overrun_usd: number | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                    /** @description A plan of the configuration. */
                    plan?: string;
                    /** @description How far the balance may fall below zero where a provider used more than was reserved, in USD; at most 9 decimals. Null: as its plan says. */
                    max_overrun_usd?: number | null;
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
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description As of its last request, or the last time that somebody looked at it. */
                        balance_usd: number;
                        /** @description Of it, reserved by requests in flight. */
                        held_usd: number;
                        /** @description In this calendar month, UTC. */
                        spent_this_month_usd: number;
                        /** @description People who belong to it. */
                        members: number;
                        /** @description How far the balance may fall below zero where a provider used more than was reserved, in USD. Null: as its plan says. */
                        max_overrun_usd: number | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                            /** @description Its name. */
                            id: string;
                            /** @enum {string} */
                            object: "plan";
                            /** @description Whether accounts have it that are made without one. */
                            default: boolean;
                            /** @description Granted each month; what is left of it expires with the month. */
                            monthly_credit_usd: number;
                            /** @description How far a balance may fall below zero where a provider used more than was reserved. */
                            max_overrun_usd: number;
                            /** @description Whether requests need credit. False: billed after the fact. */
                            prepaid: boolean;
                            /** @description Requests a minute. Null: no limit. */
                            requests_per_minute: number | null;
                            /** @description Tokens a minute. Null: no limit. */
                            tokens_per_minute: number | null;
                            /** @description Requests at once. */
                            max_in_flight: number;
                        }[];
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                /** @description At most one entry of the account is made under a key, however often and however late it is sent; a repeat gets the same answer, with `idempotent-replayed: true`. With another body: 409 `idempotency_key_reused`. */
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
                     * @description grant: for nothing. purchase: paid for. refund: given back to the customer. debit: taken away, such as a chargeback or a correction; the balance may go below zero.
                     * @enum {string}
                     */
                    kind: "grant" | "purchase" | "refund" | "debit";
                    /** @description USD, at most 9 decimals. Added to the balance; a debit is taken from it. */
                    usd: number;
                    /** @description Why; the customer sees it. Required for a debit. */
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
                         * @description grant: given, the monthly allowance too. purchase: paid for. charge: a completion. refund: given back. debit: taken away by the operator, such as a chargeback. expiry: what was left of an allowance.
                         * @enum {string}
                         */
                        kind: "grant" | "purchase" | "charge" | "refund" | "debit" | "expiry";
                        /** @description USD, at most 9 decimals; below zero for what is taken away. */
                        amount_usd: number;
                        /** @description USD after it. */
                        balance_usd: number;
                        /** @description Of a charge: the completion. */
                        completion_id: string | null;
                        /** @description Of a charge: the API key of the request. */
                        key_id: string | null;
                        /** @description Of a charge: the price it was made at. */
                        price_version: string | null;
                        /** @description The row that this one corrects. */
                        adjusts: string | null;
                        /** @description Why. */
                        note: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                            /** @description Its name. */
                            id: string;
                            /** @enum {string} */
                            object: "provider";
                            /** @description By the configuration. */
                            name: string;
                            /** @description Without user, password and query. */
                            base_url: string;
                            /**
                             * @description healthy: every breaker is closed and no credential is cooling. down: every model that was called is left alone. degraded: anything between.
                             * @enum {string}
                             */
                            status: "healthy" | "degraded" | "down";
                            /** @description Most calls at the same time from one process. Null: no limit. */
                            max_in_flight: number | null;
                            /** @description Requests that have a place at it. */
                            in_flight: number;
                            /** @description Requests that wait for a place. */
                            queued: number;
                            credentials: {
                                /** @description From 1, in the order of the configuration. */
                                number: number;
                                /** @description Calls under way with it. */
                                in_flight: number;
                                /** @description What it is not used for, since the provider limited its rate or refused it. */
                                cooling: {
                                    /** @description By the provider’s own name; `*`: every model. */
                                    model: string;
                                    /** @description ISO 8601 UTC. */
                                    until: string;
                                }[];
                            }[];
                            /** @description Estimated cost, since this process started, of calls that ended before their first event: no client is charged for them. */
                            cost_unbilled_usd: number;
                            /** @description The models that were called since this process started. */
                            deployments: {
                                /** @description By the provider’s own name. */
                                model: string;
                                /**
                                 * @description closed: called as usual. open: failed too often, and left alone until `open_until` unless nothing else is left. half_open: one request tries it.
                                 * @enum {string}
                                 */
                                breaker: "closed" | "open" | "half_open";
                                /** @description ISO 8601 UTC. Null: it is not open. */
                                open_until: string | null;
                                /** @description In a row. */
                                failures: number;
                                /** @description Calls under way. */
                                in_flight: number;
                                /** @description To the first event of a stream, smoothed. Null: no stream yet. */
                                first_event_ms: number | null;
                                /** @description To the end of a whole answer, smoothed. Null: none yet. */
                                whole_answer_ms: number | null;
                                /** @description Since this process started. */
                                calls: number;
                                /** @description Those of them that failed through the provider’s fault. */
                                failed_calls: number;
                                /** @description Null: none since this process started. */
                                last_failure: {
                                    /** @description ISO 8601 UTC. */
                                    at: string;
                                    /** @description What went wrong. */
                                    message: string;
                                } | null;
                            }[];
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                /** @description By model. */
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
                            /** @description The same. */
                            model: string;
                            /** @description ISO 8601 UTC: when the model is without a price. */
                            ends_at: string;
                            /** @description Whether that was before now: the model answers 503 `model_not_priced`. */
                            ended: boolean;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                /** @description By the configuration. */
                name: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @description It answered, and neither refused its key, nor limits requests, nor fails. */
                        ok: boolean;
                        /** @description From the call to the head of the answer, in milliseconds. */
                        duration_ms: number;
                        /** @description Of its answer. Null: there was none. */
                        status: number | null;
                        /** @description What came of it, as a sentence. Never the key, nor a word of the provider’s. */
                        message: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                            /** @description Where it is reached. */
                            address: string | null;
                            /** @description ISO 8601 UTC, by the database’s clock. */
                            started_at: string;
                            /** @description When it last reported, which it does every 5 s. */
                            seen_at: string;
                            /** @description CPU time of the last minute; 1 is one processor. Null: it has not said yet. */
                            load: number | null;
                            /** @description 99 of 100 turns of its event loop were late by no more than this. */
                            lag_ms: number | null;
                            /** @description Completions under way. */
                            active_requests: number | null;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                         * @description What commands of agents run in. none: nothing keeps them from what the service itself may do.
                         * @enum {string}
                         */
                        backend: "bubblewrap" | "none";
                        /** @description Whether it takes runs. Null: it does no work in the background, other processes do. */
                        available: boolean | null;
                        /** @description Why it takes none, and what to do about it. Null: nothing is wrong. */
                        reason: string | null;
                        /** @description Runs under way in it. */
                        running: number;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                            /** @description All rights, spelled out. */
                            scopes: string[];
                            /** @description ISO 8601; null: never. */
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
                        /** @description The same as `credential.scopes`; `operator` among them. */
                        rights: string[];
                        /** @description That the person can go over to. A key and a token have the one that they are of. */
                        accounts: {
                            id: string;
                            name: string;
                            /** @description Null: a key has none. */
                            role: string | null;
                        }[];
                        /** @description Of the gateway. */
                        version: string;
                        /** @description Whether people can sign in with one, and so be invited. */
                        identity_providers: boolean;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                            /** @description Where it was begun from. */
                            address: string | null;
                            /** @description What the browser called itself then. */
                            user_agent: string | null;
                            created_at: string;
                            /** @description When it was last renewed. */
                            last_used_at: string;
                            /** @description When it ends if it is not renewed. */
                            expires_at: string;
                            /** @description Whether this request is made with it. */
                            current: boolean;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                            /** @description Of the user. */
                            id: string;
                            /** @enum {string} */
                            object: "member";
                            email: string;
                            name: string;
                            /** @enum {string} */
                            role: "owner" | "admin" | "developer" | "billing";
                            /** @description When they joined. */
                            created_at: string;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteMembersById: {
        parameters: {
            path: {
                id: string;
            };
        };
        responses: {
            /** @description Success. */
            204: {
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                    role: "owner" | "admin" | "developer" | "billing";
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        /** @description Of the user. */
                        id: string;
                        /** @enum {string} */
                        object: "member";
                        email: string;
                        name: string;
                        /** @enum {string} */
                        role: "owner" | "admin" | "developer" | "billing";
                        /** @description When they joined. */
                        created_at: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                            /** @description Whom it is meant for. */
                            email: string | null;
                            /** @description The user, or the user who made the key that invited. Null: nobody. */
                            created_by: string | null;
                            /** @description The API key that invited: the link is good only while it could invite. Null: a person did. */
                            key_id: string | null;
                            created_at: string;
                            expires_at: string;
                            /** @description ISO 8601. */
                            used_at: string | null;
                            /** @description The user who joined by it. */
                            used_by: string | null;
                            /** @description ISO 8601. */
                            revoked_at: string | null;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                    /** @description Whom it is meant for. A note: nothing is sent there, and whoever has the link may use it. */
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
                        /** @description Whom it is meant for. */
                        email: string | null;
                        /** @description The user, or the user who made the key that invited. Null: nobody. */
                        created_by: string | null;
                        /** @description The API key that invited: the link is good only while it could invite. Null: a person did. */
                        key_id: string | null;
                        created_at: string;
                        expires_at: string;
                        /** @description ISO 8601. */
                        used_at: string | null;
                        /** @description The user who joined by it. */
                        used_by: string | null;
                        /** @description ISO 8601. */
                        revoked_at: string | null;
                        /** @description The link, shown this once. It is good for 7 days, and for one person. */
                        url: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                /** @description Exactly this action. */
                action?: string;
                /** @description What this actor did. */
                actor_id?: string;
                /**
                 * @description ISO 8601; events from then on.
                 * @example 2026-01-01T00:00:00Z
                 */
                from?: string;
                /**
                 * @description ISO 8601; events before then.
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
                                /** @description Of the API key, the device or the user. */
                                id: string | null;
                                /** @description The key’s name, the e-mail address. */
                                name: string | null;
                            };
                            /** @description Noun and verb: `key.created`, `member.role_changed`. */
                            action: string;
                            /** @description The id of what it was done to. Null: the account itself. */
                            subject: string | null;
                            /**
                             * @description denied: it was asked for and refused.
                             * @enum {string}
                             */
                            result: "done" | "denied";
                            /** @description How often the same was asked for and refused within an hour of `at`; 1 for all else. */
                            attempts: number;
                            /** @description Of the last of these attempts, ISO 8601 UTC; `at` where there was one. */
                            last_at: string;
                            /** @description Where the request came from. */
                            address: string | null;
                            /** @description What the client called itself. */
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
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                            /** @description Who connected it. */
                            user_id: string;
                            /** @description Their e-mail address. */
                            user_email: string | null;
                            /** @description What was approved. It may do what its person may as well. */
                            scopes: string[];
                            /** @description Where it asked from. */
                            address: string | null;
                            /** @description What it called itself. */
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
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                            /** @description What the work starts from. Null: the repository’s default branch. */
                            base_branch: string | null;
                            /** @description What is worked on and pushed. */
                            branch: string;
                            /** @description What the last run that completed says it has done. */
                            summary: string | null;
                            /** @description Why it failed. */
                            error: {
                                /** @enum {string} */
                                code: "start_timeout" | "agents_unavailable" | "repository_unavailable" | "repository_too_large" | "model_unavailable" | "insufficient_credit" | "rate_limited" | "provider_error" | "max_cost" | "max_steps" | "run_timeout" | "stalled" | "workspace_too_large" | "push_failed" | "worker_lost" | "internal_error";
                                message: string;
                            } | null;
                            /** @description Of all its runs. */
                            usage: {
                                /** @description Prompt and completion tokens. */
                                tokens: number;
                                /** @description USD, at most 9 decimals. */
                                cost_usd: number;
                            };
                            /** @description How many it has had, the one that waits or runs included. */
                            runs: number;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                            /** @description When its last run was started. */
                            started_at: string | null;
                            /** @description When that has ended. */
                            ended_at: string | null;
                            /** @description Who created the last run. It has their rights and uses their budget. */
                            created_by: {
                                /** @enum {string} */
                                type: "key" | "device" | "member";
                                id: string;
                                /** @description Name of the key, or e-mail address of the person. Null: no longer there. */
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
                                /** @description Name of the key, or e-mail address of the person. Null: no longer there. */
                                name: string | null;
                            };
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                /** @description A repeat with the same key and body gets the same answer, and nothing is done again. */
                "idempotency-key"?: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description For people. */
                    name: string;
                    /**
                     * @description `organisation/repository`
                     * @example example/website
                     */
                    repository: string;
                    /** @description What is to be done. */
                    prompt: string;
                    /** @description Unless set, the operator’s choice. */
                    model?: string | null;
                    /**
                     * @description What the work starts from; unless set, the repository’s default branch.
                     * @example main
                     */
                    branch?: string | null;
                    /** @description What a run may cost, in USD; at most 9 decimals. */
                    max_cost_usd?: number | null;
                    /** @description Calls of the model that a run may make; 100 unless set. */
                    max_steps?: number | null;
                };
            };
        };
        responses: {
            /** @description The agent. Without the scope agents:read it is the object and its id alone. */
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
                        /** @description What the work starts from. Null: the repository’s default branch. */
                        base_branch: string | null;
                        /** @description What is worked on and pushed. */
                        branch: string;
                        /** @description What the last run that completed says it has done. */
                        summary: string | null;
                        /** @description Why it failed. */
                        error: {
                            /** @enum {string} */
                            code: "start_timeout" | "agents_unavailable" | "repository_unavailable" | "repository_too_large" | "model_unavailable" | "insufficient_credit" | "rate_limited" | "provider_error" | "max_cost" | "max_steps" | "run_timeout" | "stalled" | "workspace_too_large" | "push_failed" | "worker_lost" | "internal_error";
                            message: string;
                        } | null;
                        /** @description Of all its runs. */
                        usage: {
                            /** @description Prompt and completion tokens. */
                            tokens: number;
                            /** @description USD, at most 9 decimals. */
                            cost_usd: number;
                        };
                        /** @description How many it has had, the one that waits or runs included. */
                        runs: number;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description When its last run was started. */
                        started_at: string | null;
                        /** @description When that has ended. */
                        ended_at: string | null;
                        /** @description Who created the last run. It has their rights and uses their budget. */
                        created_by: {
                            /** @enum {string} */
                            type: "key" | "device" | "member";
                            id: string;
                            /** @description Name of the key, or e-mail address of the person. Null: no longer there. */
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
                            /** @description Name of the key, or e-mail address of the person. Null: no longer there. */
                            name: string | null;
                        };
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                        /** @description What the work starts from. Null: the repository’s default branch. */
                        base_branch: string | null;
                        /** @description What is worked on and pushed. */
                        branch: string;
                        /** @description What the last run that completed says it has done. */
                        summary: string | null;
                        /** @description Why it failed. */
                        error: {
                            /** @enum {string} */
                            code: "start_timeout" | "agents_unavailable" | "repository_unavailable" | "repository_too_large" | "model_unavailable" | "insufficient_credit" | "rate_limited" | "provider_error" | "max_cost" | "max_steps" | "run_timeout" | "stalled" | "workspace_too_large" | "push_failed" | "worker_lost" | "internal_error";
                            message: string;
                        } | null;
                        /** @description Of all its runs. */
                        usage: {
                            /** @description Prompt and completion tokens. */
                            tokens: number;
                            /** @description USD, at most 9 decimals. */
                            cost_usd: number;
                        };
                        /** @description How many it has had, the one that waits or runs included. */
                        runs: number;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description When its last run was started. */
                        started_at: string | null;
                        /** @description When that has ended. */
                        ended_at: string | null;
                        /** @description Who created the last run. It has their rights and uses their budget. */
                        created_by: {
                            /** @enum {string} */
                            type: "key" | "device" | "member";
                            id: string;
                            /** @description Name of the key, or e-mail address of the person. Null: no longer there. */
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
                            /** @description Name of the key, or e-mail address of the person. Null: no longer there. */
                            name: string | null;
                        };
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                /** @description A repeat with the same key and body gets the same answer, and nothing is done again. */
                "idempotency-key"?: string;
            };
            path: {
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description What is to be done. */
                    prompt: string;
                };
            };
        };
        responses: {
            /** @description The agent. Without the scope agents:read it is the object and its id alone. */
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
                        /** @description What the work starts from. Null: the repository’s default branch. */
                        base_branch: string | null;
                        /** @description What is worked on and pushed. */
                        branch: string;
                        /** @description What the last run that completed says it has done. */
                        summary: string | null;
                        /** @description Why it failed. */
                        error: {
                            /** @enum {string} */
                            code: "start_timeout" | "agents_unavailable" | "repository_unavailable" | "repository_too_large" | "model_unavailable" | "insufficient_credit" | "rate_limited" | "provider_error" | "max_cost" | "max_steps" | "run_timeout" | "stalled" | "workspace_too_large" | "push_failed" | "worker_lost" | "internal_error";
                            message: string;
                        } | null;
                        /** @description Of all its runs. */
                        usage: {
                            /** @description Prompt and completion tokens. */
                            tokens: number;
                            /** @description USD, at most 9 decimals. */
                            cost_usd: number;
                        };
                        /** @description How many it has had, the one that waits or runs included. */
                        runs: number;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description When its last run was started. */
                        started_at: string | null;
                        /** @description When that has ended. */
                        ended_at: string | null;
                        /** @description Who created the last run. It has their rights and uses their budget. */
                        created_by: {
                            /** @enum {string} */
                            type: "key" | "device" | "member";
                            id: string;
                            /** @description Name of the key, or e-mail address of the person. Null: no longer there. */
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
                            /** @description Name of the key, or e-mail address of the person. Null: no longer there. */
                            name: string | null;
                        };
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
            /** @description The agent. Without the scope agents:read it is the object and its id alone. */
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
                        /** @description What the work starts from. Null: the repository’s default branch. */
                        base_branch: string | null;
                        /** @description What is worked on and pushed. */
                        branch: string;
                        /** @description What the last run that completed says it has done. */
                        summary: string | null;
                        /** @description Why it failed. */
                        error: {
                            /** @enum {string} */
                            code: "start_timeout" | "agents_unavailable" | "repository_unavailable" | "repository_too_large" | "model_unavailable" | "insufficient_credit" | "rate_limited" | "provider_error" | "max_cost" | "max_steps" | "run_timeout" | "stalled" | "workspace_too_large" | "push_failed" | "worker_lost" | "internal_error";
                            message: string;
                        } | null;
                        /** @description Of all its runs. */
                        usage: {
                            /** @description Prompt and completion tokens. */
                            tokens: number;
                            /** @description USD, at most 9 decimals. */
                            cost_usd: number;
                        };
                        /** @description How many it has had, the one that waits or runs included. */
                        runs: number;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description When its last run was started. */
                        started_at: string | null;
                        /** @description When that has ended. */
                        ended_at: string | null;
                        /** @description Who created the last run. It has their rights and uses their budget. */
                        created_by: {
                            /** @enum {string} */
                            type: "key" | "device" | "member";
                            id: string;
                            /** @description Name of the key, or e-mail address of the person. Null: no longer there. */
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
                            /** @description Name of the key, or e-mail address of the person. Null: no longer there. */
                            name: string | null;
                        };
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                            /** @description From 1, in its agent. */
                            number: number;
                            /** @description The run that was the last one when it was written. */
                            run_id: string;
                            /**
                             * @description summary: what the model is given in place of older messages.
                             * @enum {string}
                             */
                            kind: "user" | "assistant" | "tool" | "summary";
                            content: string | null;
                            /** @description As in chat completions. */
                            tool_calls: {
                                [key: string]: unknown;
                            }[] | null;
                            /** @description Who wrote it. Null: the model or a tool, or it is older than this field. */
                            author: {
                                /** @enum {string} */
                                type: "key" | "device" | "member";
                                id: string;
                            } | null;
                            /** @description What a tool’s message answers. */
                            tool_call_id: string | null;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                            /** @description From 1, in its agent. */
                            number: number;
                            /** @enum {string} */
                            status: "queued" | "running" | "completed" | "failed" | "cancelled";
                            /** @description While it runs: cloning, working, committing, pushing. */
                            phase: string | null;
                            /** @description What it says it has done. */
                            summary: string | null;
                            /** @description Why it failed. */
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
                            /** @description Calls of the model. */
                            steps: number;
                            /** @description Null: 100. */
                            max_steps: number | null;
                            /** @description Null: no limit but the account’s. */
                            max_cost_usd: number | null;
                            /** @description The commit that it left on the branch. */
                            commit: string | null;
                            /** @description Whether the branch was pushed with it. */
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
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                /** @description Whether to wait for what it does. `true` by default. */
                follow?: "true" | "false";
            };
            header?: {
                /**
                 * @description The number of the last event received.
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
                    "text/event-stream": string;
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                            url: string;
                            /** @description Types of events; null: all. */
                            events: string[] | null;
                            description: string;
                            /**
                             * @description disabled: nothing is sent to it.
                             * @enum {string}
                             */
                            status: "enabled" | "disabled";
                            /**
                             * @description gone: it answered 410. failing: every attempt of 5 days failed. creator_gone: its creator left the account, or the key that created it was revoked; whoever enables it takes it over.
                             * @enum {string|null}
                             */
                            disabled_reason: "by_request" | "gone" | "failing" | "creator_gone" | null;
                            /** @description ISO 8601 UTC. */
                            disabled_at: string | null;
                            /** @description The first failed attempt that no success has followed. */
                            failing_since: string | null;
                            /** @description Until then the secret before the last rotation signs too. */
                            previous_secret_expires_at: string | null;
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                            /** @description The newest; null: there is none. */
                            last_delivery: {
                                id: string;
                                /**
                                 * @description Of the event.
                                 * @enum {string}
                                 */
                                type: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "ledger.audit" | "webhook.test";
                                /**
                                 * @description pending: it is being tried, or will be again.
                                 * @enum {string}
                                 */
                                status: "pending" | "delivered" | "failed";
                                /** @description ISO 8601 UTC. */
                                created_at: string;
                            } | null;
                            /** @description How many of the last 24 hours, of the newest 1000, are what by now. */
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
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                     * @description An `https:` address that is public, on port 443 or 8443.
                     * @example https://example.com/webhooks
                     */
                    url: string;
                    /** @description The types that it is sent: `agent.started`, `agent.completed`, `agent.failed`, `agent.cancelled`, `usage.alert`, `credit.exhausted`, `ledger.audit`, `webhook.test`. null: all, also those that are yet to come. */
                    events?: ("agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "ledger.audit" | "webhook.test")[] | null;
                    /** @description A note for people. */
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
                        url: string;
                        /** @description Types of events; null: all. */
                        events: string[] | null;
                        description: string;
                        /**
                         * @description disabled: nothing is sent to it.
                         * @enum {string}
                         */
                        status: "enabled" | "disabled";
                        /**
                         * @description gone: it answered 410. failing: every attempt of 5 days failed. creator_gone: its creator left the account, or the key that created it was revoked; whoever enables it takes it over.
                         * @enum {string|null}
                         */
                        disabled_reason: "by_request" | "gone" | "failing" | "creator_gone" | null;
                        /** @description ISO 8601 UTC. */
                        disabled_at: string | null;
                        /** @description The first failed attempt that no success has followed. */
                        failing_since: string | null;
                        /** @description Until then the secret before the last rotation signs too. */
                        previous_secret_expires_at: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description What signs, shown this once. */
                        secret: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                        url: string;
                        /** @description Types of events; null: all. */
                        events: string[] | null;
                        description: string;
                        /**
                         * @description disabled: nothing is sent to it.
                         * @enum {string}
                         */
                        status: "enabled" | "disabled";
                        /**
                         * @description gone: it answered 410. failing: every attempt of 5 days failed. creator_gone: its creator left the account, or the key that created it was revoked; whoever enables it takes it over.
                         * @enum {string|null}
                         */
                        disabled_reason: "by_request" | "gone" | "failing" | "creator_gone" | null;
                        /** @description ISO 8601 UTC. */
                        disabled_at: string | null;
                        /** @description The first failed attempt that no success has followed. */
                        failing_since: string | null;
                        /** @description Until then the secret before the last rotation signs too. */
                        previous_secret_expires_at: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description The newest; null: there is none. */
                        last_delivery: {
                            id: string;
                            /**
                             * @description Of the event.
                             * @enum {string}
                             */
                            type: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "ledger.audit" | "webhook.test";
                            /**
                             * @description pending: it is being tried, or will be again.
                             * @enum {string}
                             */
                            status: "pending" | "delivered" | "failed";
                            /** @description ISO 8601 UTC. */
                            created_at: string;
                        } | null;
                        /** @description How many of the last 24 hours, of the newest 1000, are what by now. */
                        deliveries_24h: {
                            delivered: number;
                            failed: number;
                            pending: number;
                        };
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                     * @description An `https:` address that is public, on port 443 or 8443.
                     * @example https://example.com/webhooks
                     */
                    url?: string;
                    /** @description The types that it is sent: `agent.started`, `agent.completed`, `agent.failed`, `agent.cancelled`, `usage.alert`, `credit.exhausted`, `ledger.audit`, `webhook.test`. null: all, also those that are yet to come. */
                    events?: ("agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "ledger.audit" | "webhook.test")[] | null;
                    /** @description A note for people. */
                    description?: string;
                    /**
                     * @description `enabled` also forgets past failures. What waits for one that is disabled fails.
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
                        url: string;
                        /** @description Types of events; null: all. */
                        events: string[] | null;
                        description: string;
                        /**
                         * @description disabled: nothing is sent to it.
                         * @enum {string}
                         */
                        status: "enabled" | "disabled";
                        /**
                         * @description gone: it answered 410. failing: every attempt of 5 days failed. creator_gone: its creator left the account, or the key that created it was revoked; whoever enables it takes it over.
                         * @enum {string|null}
                         */
                        disabled_reason: "by_request" | "gone" | "failing" | "creator_gone" | null;
                        /** @description ISO 8601 UTC. */
                        disabled_at: string | null;
                        /** @description The first failed attempt that no success has followed. */
                        failing_since: string | null;
                        /** @description Until then the secret before the last rotation signs too. */
                        previous_secret_expires_at: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                     * @description Seconds in which the old secret signs as well. 0: never again.
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
                        url: string;
                        /** @description Types of events; null: all. */
                        events: string[] | null;
                        description: string;
                        /**
                         * @description disabled: nothing is sent to it.
                         * @enum {string}
                         */
                        status: "enabled" | "disabled";
                        /**
                         * @description gone: it answered 410. failing: every attempt of 5 days failed. creator_gone: its creator left the account, or the key that created it was revoked; whoever enables it takes it over.
                         * @enum {string|null}
                         */
                        disabled_reason: "by_request" | "gone" | "failing" | "creator_gone" | null;
                        /** @description ISO 8601 UTC. */
                        disabled_at: string | null;
                        /** @description The first failed attempt that no success has followed. */
                        failing_since: string | null;
                        /** @description Until then the secret before the last rotation signs too. */
                        previous_secret_expires_at: string | null;
                        /** @description ISO 8601 UTC. */
                        created_at: string;
                        /** @description What signs, shown this once. */
                        secret: string;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                /** @description Only these. */
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
                             * @description Of the event.
                             * @enum {string}
                             */
                            type: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "ledger.audit" | "webhook.test";
                            /**
                             * @description pending: it is being tried, or will be again.
                             * @enum {string}
                             */
                            status: "pending" | "delivered" | "failed";
                            /** @description The newest, in their order. */
                            attempts: {
                                /** @description From 1, through all redeliveries. */
                                number: number;
                                /** @description When it began, ISO 8601 UTC. */
                                at: string;
                                duration_ms: number;
                                /** @description Of the answer; null without one. */
                                status_code: number | null;
                                /** @description Why it failed; null: it did not. */
                                error: string | null;
                                /** @description Its first 4 KiB. */
                                response_body: string | null;
                            }[];
                            /** @description null: there is none. */
                            next_attempt_at: string | null;
                            /** @description Why it failed, or why it was not tried. */
                            error: string | null;
                            created_at: string;
                            /** @description null while it is pending. */
                            ended_at: string | null;
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                         * @description Of the event.
                         * @enum {string}
                         */
                        type: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "ledger.audit" | "webhook.test";
                        /**
                         * @description pending: it is being tried, or will be again.
                         * @enum {string}
                         */
                        status: "pending" | "delivered" | "failed";
                        /** @description The newest, in their order. */
                        attempts: {
                            /** @description From 1, through all redeliveries. */
                            number: number;
                            /** @description When it began, ISO 8601 UTC. */
                            at: string;
                            duration_ms: number;
                            /** @description Of the answer; null without one. */
                            status_code: number | null;
                            /** @description Why it failed; null: it did not. */
                            error: string | null;
                            /** @description Its first 4 KiB. */
                            response_body: string | null;
                        }[];
                        /** @description null: there is none. */
                        next_attempt_at: string | null;
                        /** @description Why it failed, or why it was not tried. */
                        error: string | null;
                        created_at: string;
                        /** @description null while it is pending. */
                        ended_at: string | null;
                        /** @description The body as it is sent. */
                        payload: {
                            [key: string]: unknown;
                        };
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                         * @description Of the event.
                         * @enum {string}
                         */
                        type: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "ledger.audit" | "webhook.test";
                        /**
                         * @description pending: it is being tried, or will be again.
                         * @enum {string}
                         */
                        status: "pending" | "delivered" | "failed";
                        /** @description The newest, in their order. */
                        attempts: {
                            /** @description From 1, through all redeliveries. */
                            number: number;
                            /** @description When it began, ISO 8601 UTC. */
                            at: string;
                            duration_ms: number;
                            /** @description Of the answer; null without one. */
                            status_code: number | null;
                            /** @description Why it failed; null: it did not. */
                            error: string | null;
                            /** @description Its first 4 KiB. */
                            response_body: string | null;
                        }[];
                        /** @description null: there is none. */
                        next_attempt_at: string | null;
                        /** @description Why it failed, or why it was not tried. */
                        error: string | null;
                        created_at: string;
                        /** @description null while it is pending. */
                        ended_at: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                         * @description Of the event.
                         * @enum {string}
                         */
                        type: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "ledger.audit" | "webhook.test";
                        /**
                         * @description pending: it is being tried, or will be again.
                         * @enum {string}
                         */
                        status: "pending" | "delivered" | "failed";
                        /** @description The newest, in their order. */
                        attempts: {
                            /** @description From 1, through all redeliveries. */
                            number: number;
                            /** @description When it began, ISO 8601 UTC. */
                            at: string;
                            duration_ms: number;
                            /** @description Of the answer; null without one. */
                            status_code: number | null;
                            /** @description Why it failed; null: it did not. */
                            error: string | null;
                            /** @description Its first 4 KiB. */
                            response_body: string | null;
                        }[];
                        /** @description null: there is none. */
                        next_attempt_at: string | null;
                        /** @description Why it failed, or why it was not tried. */
                        error: string | null;
                        created_at: string;
                        /** @description null while it is pending. */
                        ended_at: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                     * @description ISO 8601: what has failed since then.
                     * @example 2026-01-31T00:00:00Z
                     */
                    failed_since: string;
                    /**
                     * @description Only says how many there are, and sends nothing.
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
                        /** @description How many are on their way, or with `dry_run` would be; ask again while it is 10 000. */
                        redelivered: number;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                /** @description Only this type. */
                type?: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "ledger.audit" | "webhook.test";
                /** @description Only what is told of this agent: its last 1 000 runs. Nothing, once it is deleted. */
                agent_id?: string;
                /** @description deliveries: also to which endpoints each event went, and what became of that. */
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
                             * @description What happened.
                             * @enum {string}
                             */
                            type: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "ledger.audit" | "webhook.test";
                            /** @description When it happened, ISO 8601 UTC. */
                            created_at: string;
                            data: {
                                [key: string]: unknown;
                            };
                            /** @description To each endpoint; only there with `include=deliveries`. */
                            deliveries?: {
                                id: string;
                                webhook_id: string;
                                /** @description As it is now. */
                                webhook_url: string;
                                /**
                                 * @description pending: it is being tried, or will be again.
                                 * @enum {string}
                                 */
                                status: "pending" | "delivered" | "failed";
                                /** @description ISO 8601 UTC; null: there is none. */
                                next_attempt_at: string | null;
                            }[];
                        }[];
                        has_more: boolean;
                        next_cursor: string | null;
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                     * @description Of the event.
                     * @enum {string}
                     */
                    type: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "ledger.audit" | "webhook.test";
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
                         * @description What happened.
                         * @enum {string}
                         */
                        type: "agent.started" | "agent.completed" | "agent.failed" | "agent.cancelled" | "usage.alert" | "credit.exhausted" | "ledger.audit" | "webhook.test";
                        /** @description When it happened, ISO 8601 UTC. */
                        created_at: string;
                        data: {
                            [key: string]: unknown;
                        };
                    };
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
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
                /** @description The id of the last event received. */
                "last-event-id"?: string;
            };
        };
        responses: {
            /** @description Events. */
            200: {
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The gateway rejected the request; `error.code` says why. */
            "4XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The gateway or a provider failed; `error.type` says whether to retry. */
            "5XX": {
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
}
