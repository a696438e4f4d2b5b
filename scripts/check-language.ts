/**
 * Checks that phrases which the project replaced by standard terms do not return, in sources, tests and documentation.
 * Identifiers count: `LedgerDesk`, `openPlace` and `asked_by` are found as well.
 */
import { finding, projectFiles, report } from './source-files.ts'

interface Phrase {
  readonly phrase: RegExp
  /** What to say instead. */
  readonly instead: string
  /** Files that may have it. */
  readonly except?: RegExp
}

/** The field `asked_by` of agents is a deprecated alias until the next release. */
const DEPRECATED_ALIAS = /^src\/features\/agents\/|^docs\/agents\.md$/

const PHRASES: readonly Phrase[] = [
  // Names
  { phrase: /HoldPlace|db\/place|routing\/places/g, instead: 'hold key, database location, concurrency limiter' },
  {
    phrase: /takeTurn\b|month-turn|monthTurn|db\/turn/g,
    instead: 'advisory lock, idempotent transaction, month rollover',
  },
  { phrase: /carry-?out\b|carryOut/g, instead: 'apply batch' },
  { phrase: /routing\/(?:search|way|passage|patience)\b/g, instead: 'select, attempt, backoff' },
  { phrase: /\broster\b/gi, instead: 'in flight' },
  { phrase: /\b[Ww]ebhookEar\b|\bListenEar\b/g, instead: 'listen connection' },
  { phrase: /\b(?:Ledger|Credit)?Desk\b|\bdesk\b/g, instead: 'credit service, ledger state' },
  { phrase: /\bstanding\b|\b[a-z]*Standing\b/g, instead: 'snapshot, state' },
  { phrase: /(?<!\/)\bshop\b(?! Play)/g, instead: 'job context' },
  { phrase: /\bstrangers?\b/gi, instead: 'negative cache, unknown key' },
  { phrase: /\bpassages?\b/gi, instead: 'attempt, lease' },
  { phrase: /\bpatience\b|Patience\b/g, instead: 'backoff, timeout' },
  { phrase: /\btally\b|Tally\b/g, instead: 'usage meter, counts' },
  { phrase: /\blandings?\b|\bLandings?\b/g, instead: 'settlements' },
  { phrase: /\blast ?[Ww]ords\b/g, instead: 'final event' },
  { phrase: /\bunheeded\b/gi, instead: 'ignored parameters' },
  { phrase: /\b[A-Za-z]+Place\b|\bplaceFor\b/g, instead: 'key, slot, location' },
  { phrase: /\basked_by\b|\baskedBy\b/g, instead: 'created_by', except: DEPRECATED_ALIAS },
  { phrase: /\blimits_counted_here/g, instead: 'limits_local_fallback' },
  // Prose
  { phrase: /\bunless said\b/gi, instead: '(default: …)' },
  { phrase: /\bunsaid\b/gi, instead: 'unknown, absent' },
  {
    phrase: /\bit is told\b|\bthe request is told\b/gi,
    instead: 'name the subject: "the gateway rejects …"',
  },
  { phrase: /\b(?:is|to be) had\b/gi, instead: 'available' },
  { phrase: /\bgo(?:es)? on without\b/gi, instead: 'continue without' },
  { phrase: /\bcomes? by (?:itself|themselves)\b/gi, instead: 'automatically' },
  { phrase: /\bin the place of\b/gi, instead: 'over, instead of' },
  { phrase: /(?<!simulate: )(?<!['`])\banew\b/gi, instead: 'again, recreate' },
  { phrase: /\bpassed over\b/gi, instead: 'skipped' },
  { phrase: /(?<!\b(?:are|not) )\ball the same\b/gi, instead: 'nevertheless, still' },
  { phrase: /\bdearest\b|(?<!token: )\bdearer\b/gi, instead: 'highest, more expensive' },
  { phrase: /\b(?:in|of|and) the house\b/gi, instead: 'the gateway, the installation' },
  // Messages
  { phrase: /has so long an id/gi, instead: 'ID exceeds N characters' },
  { phrase: /\bNot for you\b/g, instead: 'This endpoint is internal' },
  { phrase: /\btoo many listen\b/gi, instead: 'too many open event streams (limit N)' },
  { phrase: /\bare spoken here\b/gi, instead: 'only … is supported on this port' },
  { phrase: /\bplaces? (?:[^.\n]{0,30} )?are taken\b/gi, instead: 'concurrency limit (N) reached' },
  { phrase: /\banswers? brings? nothing\b/gi, instead: 'the model returned no usable output' },
  { phrase: /\bcost what it may\b/gi, instead: 'cost limit of $X reached' },
  { phrase: /\blongest answer there can be\b/gi, instead: 'truncated at the output limit' },
  { phrase: /\btold (?:nothing|that|this) first\b/gi, instead: 'system prompt set, system prompt cleared' },
  { phrase: /\bnobody knows this name\b/gi, instead: 'host not found' },
  { phrase: /\bno way to (?:it|this machine|the host)\b/gi, instead: 'no route to host' },
  { phrase: /\bcertificate is its own\b/gi, instead: 'self-signed certificate' },
  { phrase: /\bmend what is wrong\b/gi, instead: 'suggest fixes' },
  { phrase: /\bfilters add up\b/gi, instead: 'filters are combined with AND' },
  { phrase: /\btell an agent more\b/gi, instead: 'send a follow-up' },
  { phrase: /\bno (?:agent|row|entry) is like that\b/gi, instead: 'no matching entries' },
  { phrase: /\bput away getting started\b/gi, instead: 'dismiss getting started' },
  { phrase: /\bhave a key at hand\b/gi, instead: 'get an API key' },
  { phrase: /\bwhat models are asked\b/gi, instead: 'requests appear here' },
  { phrase: /\bthere is no way to\b/gi, instead: 'name the subject: "X cannot …"' },
  { phrase: /\bhas no rights? to be asked\b/gi, instead: 'is not authorized' },
]

interface Exception {
  readonly path: RegExp
  readonly reason: string
}

const EXCEPTIONS: readonly Exception[] = [
  { path: /^scripts\/check-language\.ts$/, reason: 'the table itself' },
  { path: /^scripts\/checks\.test\.ts$/, reason: 'tests of the table' },
  { path: /\/fixtures\/|^dashboard\/src\/api\/schema\.d\.ts$/, reason: 'recorded or generated' },
  { path: /^CHANGELOG\.md$/, reason: 'lists old names' },
  { path: /^docs\/decisions\//, reason: 'records of past decisions keep their words' },
]

const CHECKED = /\.(?:tsx?|js|mjs|css|html|md|ya?ml|json)$/

const files = projectFiles().filter(
  ({ path }) => CHECKED.test(path) && !EXCEPTIONS.some((exception) => exception.path.test(path)),
)

const findings = PHRASES.flatMap(({ phrase, instead, except }) =>
  files
    .filter(({ path }) => except?.test(path) !== true)
    .flatMap((file) =>
      [...file.text.matchAll(phrase)].map((match) => finding(file, match.index, `“${match[0]}”: say ${instead}`)),
    ),
)
report('language', findings)
