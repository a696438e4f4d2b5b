"""Rules that JSON Schema cannot express, between values or about what exists: values that break them are replaced.

Values that break the schema itself, of negative tests, stay as they are.
"""

import gc
import itertools
import os
import re
from collections import Counter

import requests.sessions
import schemathesis
from schemathesis.core.jsonschema import patterns
from schemathesis.engine.run.unit import _direct_executor as executor
from schemathesis.generation.jsonschema import strategy
from schemathesis.specs.openapi import converter
from schemathesis.specs.openapi.coverage import _operation as coverage

# What a run makes it keeps until it ends: each collection would look at all of it.
gc.disable()
# No proxy and no .netrc: requests would look for them at every request.
requests.sessions.get_environ_proxies = lambda *_, **__: {}
requests.sessions.get_netrc_auth = lambda *_, **__: None

OWN_KEY = os.environ["GATEWAY_KEY_ID"]
DAY = re.compile(r"^\d{4}-\d{2}-\d{2}")
CURSOR = re.compile(r"^[A-Za-z0-9_-]{23,512}$")  # those of audits as well
ADDRESS = re.compile(r"^(?=.{2,64}$)[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$")
REPOSITORY = re.compile(r"^(?=.{3,201}$)[A-Za-z0-9_][A-Za-z0-9_.-]*/[A-Za-z0-9_][A-Za-z0-9_.-]*$")
LIMIT = re.compile(r"^[0-9]{1,5}$", re.ASCII)
URL = re.compile(r"^(?:https?://\S+|mailto:[^@\s]+@[^@\s]+)$", re.IGNORECASE)
START, END = "2026-01-01", "2026-01-02"
PAGE_LIMIT, FILE_LIMIT = 100, 10_000
# Filters of completions that need a period of at most 7 days.
SEARCHES = ("provider", "client_request_id", "tag", "session_id", "end_user", "outcome", "min_duration_ms", "max_duration_ms")
SEARCHES += ("min_cost_usd", "max_cost_usd")
ORDERED = (("period_start", "period_end"), ("from", "to"))


def is_time(value):
    return isinstance(value, str) and DAY.match(value) is not None


def repair_query(query):
    """Periods run forwards and are short, cursors are those that a list gave out, intervals fit their grouping."""
    if isinstance(query.get("cursor"), str) and CURSOR.match(query["cursor"]):
        del query["cursor"]
    for first, last in ORDERED:
        if is_time(query.get(first)) or is_time(query.get(last)):
            for name, value in ((first, START), (last, END)):
                if name not in query or is_time(query[name]):
                    query[name] = value
    if "group_by" in query and query["group_by"] not in DIMENSIONS:
        query["group_by"] = "model"
    if any(name in query for name in SEARCHES):
        query.setdefault("period_start", START)
        query.setdefault("period_end", END)
    filters = ("team_id", "member_id", "provider", "kind", "tag", "session_id", "end_user")
    if query.get("group_by") not in (None, "model", "kind", "key") or any(name in query for name in filters):
        query.pop("interval", None)


def repair_limit(query):
    """Of a list that is also a file: what only a file may have is for a file."""
    limit = str(query.get("limit"))  # a number, or already text
    if query.get("format") != "csv" and LIMIT.match(limit) and PAGE_LIMIT < int(limit) <= FILE_LIMIT:
        query["limit"] = PAGE_LIMIT


def repair_body(body):
    """Values that refer to what there is, and amounts of at most nine decimals."""
    for name in ("monthly_budget_usd", "max_overrun_usd", "max_cost_usd", "usd"):
        if isinstance(body.get(name), float):
            body[name] = round(body[name], 9)
    for name in ("expires_at", "ends_at"):
        if is_time(body.get(name)):
            body[name] = "2099-01-01T00:00:00Z"
    if body.get("level") == "tag" and isinstance(body.get("subject", ""), str):
        body["subject"] = "customer=acme"
    if isinstance(body.get("tags"), dict) and all(isinstance(value, str) for value in body["tags"].values()):
        body["tags"] = {"team": "search"}
    if isinstance(body.get("budgets"), list):
        body["budgets"] = repair_budgets(body["budgets"])
    addresses = body.get("ip_allowlist")
    if isinstance(addresses, list) and all(isinstance(each, str) and ADDRESS.match(each) for each in addresses):
        body["ip_allowlist"] = ["203.0.113.0/24"] * len(addresses)
    thresholds = body.get("alert_thresholds")
    if isinstance(thresholds, list) and len(thresholds) <= 10 and all(is_percentage(each) for each in thresholds):
        body["alert_thresholds"] = sorted(set(thresholds))
    if isinstance(body.get("repository"), str) and REPOSITORY.match(body["repository"]):
        body["repository"] = "acme/website"
    scopes = body.get("scopes")
    for scope in ("keys", "members", "teams", "scim"):  # of keys without limits alone
        if isinstance(scopes, list) and scopes.count(scope) == 1:
            scopes.remove(scope)
    if isinstance(body.get("branch"), str) and 1 <= len(body["branch"]) <= 200:
        body["branch"] = "main"
    if isinstance(body.get("plan"), str) and 1 <= len(body["plan"]) <= 100:
        body["plan"] = "test"
    if isinstance(body.get("url"), str) and URL.match(body["url"]) and len(body["url"]) <= 2048:
        body["url"] = "https://127.0.0.1:9/hook"  # nothing listens there: no test leaves this machine
    if body.get("kind") == "email":  # the gateway of the test has no mail server
        body["kind"] = "slack"
    amounts = [body] if case_is_top_up(body) else [body["auto_recharge"]] if isinstance(body.get("auto_recharge"), dict) else []
    for amount in amounts:  # payments are in whole cents
        for name in ("usd", "below_usd", "add_usd", "monthly_limit_usd"):
            if isinstance(amount.get(name), float) and 1 <= amount[name] <= 100_000:
                amount[name] = float(round(amount[name]))
            if name == "below_usd" and isinstance(amount.get(name), float) and 0 <= amount[name] < 1:
                amount[name] = 0
    days = body.get("retention_days")
    if isinstance(days, int) and 30 < days <= 3_650:  # more than the operator of the test allows
        body["retention_days"] = 30
    if body.get("kind") == "debit" and body.get("note", "") == "":
        body["note"] = "a correction"


def case_is_top_up(body):
    return isinstance(body.get("usd"), float) and set(body) <= {"usd", "save_payment_method"}


def repair_budgets(budgets):
    """Zones that exist, each window once, and none that would block later requests."""
    repaired = {}
    for number, budget in enumerate(budgets):
        if not isinstance(budget, dict):
            repaired[number] = budget
            continue
        if isinstance(budget.get("usd"), float):
            budget["usd"] = round(budget["usd"], 9)
        if isinstance(budget.get("timezone"), str) and 1 <= len(budget["timezone"]) <= 64:
            budget["timezone"] = "Europe/Berlin"
        if budget.get("action", "block") == "block":
            budget["action"] = "warn"
        name = (str(budget.get("window")), budget.get("timezone", "UTC"), str(budget.get("starts")))
        repaired[number if name[0] not in WINDOWS else str(name)] = budget
    return list(repaired.values()) if len(budgets) <= 10 else budgets


DIMENSIONS = ("model", "key", "day", "kind", "agent", "team", "member", "provider", "session", "end_user", "tag:customer,model")
WINDOWS = ("day", "week", "month", "quarter", "total")


def is_percentage(value):
    # 45.0 is an integer of JSON Schema as well
    return not isinstance(value, bool) and isinstance(value, (int, float)) and value % 1 == 0 and 1 <= value <= 1000


def repair_rules(rules):
    """Patterns that are RE2, and hooks on this machine."""
    for rule in rules:
        if isinstance(rule, dict) and isinstance(rule.get("pattern"), str) and 1 <= len(rule["pattern"]) <= 1000:
            rule["pattern"] = "a+"
        if isinstance(rule, dict) and isinstance(rule.get("url"), str) and URL.match(rule["url"]):
            rule["url"] = "https://127.0.0.1:9/hook"


def repair_mappings(mappings):
    """Roles of teams for teams, those of the account without."""
    for mapping in mappings:
        if isinstance(mapping, dict) and mapping.get("role") in ROLES:
            mapping["role"] = "member" if isinstance(mapping.get("team_id"), str) else "developer"


ROLES = ("admin", "developer", "billing", "member", "viewer")


def repair_destination(case):
    """What a kind needs and takes; a change needs no credential as long as the address stays."""
    if case.method == "PATCH":
        for name in ("url", "credential", "headers"):
            case.body.pop(name, None)
    elif case.body.get("kind") in KINDS:
        case.body["kind"] = "otlp"
        case.body.pop("credential", None)
        if isinstance(case.body.get("url", ""), str):
            case.body["url"] = "https://otel.invalid/hook"  # a public name that leads nowhere


KINDS = ("langfuse", "langsmith", "datadog", "honeycomb", "grafana_cloud", "grafana", "otlp")


def repair_setting(case):
    """The simulator, which other requests of this run are answered by, stays; no test leaves this machine."""
    for name in ("id", "name"):
        value = (case.path_parameters or {}).get(name)
        if case.method in ("PUT", "DELETE") and isinstance(value, str) and "simulator" in value:
            case.path_parameters[name] = "another"
    if isinstance(case.body, dict) and "base_url" in case.body:
        case.body["base_url"] = "http://127.0.0.1:9"


# Longer values are made without the pattern (schemathesis calls it `INTERNAL_BUFFER_SIZE`).
LONGEST = 32 * 1024


def with_length(pattern, min_length, max_length):
    """Leaves long limits beside their pattern: each validator would expand `{1,100000}` in it for seconds."""
    if (max_length or 0) >= LONGEST:
        return pattern
    return patterns.update_quantifier(pattern, min_length, max_length)


for module in (converter, coverage, strategy):
    module.update_quantifier = with_length


# Of the cases of an operation that break the same rule at the same place and differ only in their value.
MOST_ALIKE = int(os.environ["SCHEMATHESIS_ALIKE"])
DIGITS = re.compile(r"\d+")
every_case = executor.content_type_probes_first


def without_repetitions(generated):
    """schemathesis has no setting for it: this replaces a function of the version that the test pins."""
    alike = Counter()
    kept = []
    for case in every_case(generated):
        data = case.meta.phase.data
        description = str(data.description).removeprefix(f"{data.parameter}: ")  # of an object with the parameter
        rule = (data.parameter_location, data.parameter, DIGITS.sub("", description))
        alike[rule] += 1
        if alike[rule] <= MOST_ALIKE or rule[2].endswith(("num value", "num value'")):  # each value of an enum
            kept.append(case)
    return kept


executor.content_type_probes_first = without_repetitions
ADDRESSES = itertools.count()


@schemathesis.hook
def before_call(context, case, kwargs):
    """The key of this run, its account's budget and its access stay: without them every later answer is 401 or 402."""
    # An address that sends many wrong keys is answered 429; the gateway of this run believes this header.
    number = next(ADDRESSES)
    case.headers["X-Forwarded-For"] = f"198.18.{number // 250 % 250}.{number % 250 + 1}"
    if isinstance(case.query, dict):
        repair_query(case.query)
        if case.path == "/v1/usage/completions":
            repair_limit(case.query)
    if isinstance(case.body, dict):
        repair_body(case.body)
    if isinstance(case.body, dict) and isinstance(case.body.get("rules"), list):
        repair_rules(case.body["rules"])
    if isinstance(case.body, dict) and isinstance(case.body.get("mappings"), list):
        repair_mappings(case.body["mappings"])
    if isinstance(case.body, dict) and case.path.startswith("/v1/telemetry-destinations"):
        repair_destination(case)
    if case.path_parameters and case.path_parameters.get("id") == OWN_KEY and case.method in ("PATCH", "DELETE"):
        case.path_parameters["id"] = "key_00000000000000000other"
    if case.path.startswith(("/v1/admin/models/{id}", "/v1/admin/providers/{name}")):
        repair_setting(case)
    if case.path == "/v1/account" and case.method == "PATCH" and isinstance(case.body, dict):
        budget = case.body.get("monthly_budget_usd")
        if isinstance(budget, (int, float)) and 0 <= budget <= 1_000_000_000:
            case.body["monthly_budget_usd"] = None
    if case.path == "/v1/agents/{id}/events" and isinstance(case.query, dict) and "follow" not in case.query:
        case.query["follow"] = "false"  # an agent that waits has no end
