/** All migrations in order. They are applied once, forward only, and never edited after a release. */
import { firstSchema } from './0001-first-schema.ts'
import { usageReports } from './0002-usage-reports.ts'
import { money } from './0003-money.ts'
import { instances } from './0004-instances.ts'
import { attempts } from './0005-attempts.ts'
import { identities } from './0006-identities.ts'
import { jobs } from './0007-jobs.ts'
import { webhooks } from './0008-webhooks.ts'
import { agents } from './0009-agents.ts'
import { creditEntries } from './0010-credit-entries.ts'
import { tariffs } from './0011-tariffs.ts'
import { ledgerAudits } from './0012-ledger-audits.ts'
import { boundedUsage } from './0013-bounded-usage.ts'
import type { MigrationStatement } from './statement.ts'

export interface Migration {
  /** Number and name; the numbers count up without gaps. */
  readonly name: string
  readonly statements: readonly MigrationStatement[]
}

export const MIGRATIONS: readonly Migration[] = [
  { name: '0001-first-schema', statements: firstSchema },
  { name: '0002-usage-reports', statements: usageReports },
  { name: '0003-money', statements: money },
  { name: '0004-instances', statements: instances },
  { name: '0005-attempts', statements: attempts },
  { name: '0006-identities', statements: identities },
  { name: '0007-jobs', statements: jobs },
  { name: '0008-webhooks', statements: webhooks },
  { name: '0009-agents', statements: agents },
  { name: '0010-credit-entries', statements: creditEntries },
  { name: '0011-tariffs', statements: tariffs },
  { name: '0012-ledger-audits', statements: ledgerAudits },
  { name: '0013-bounded-usage', statements: boundedUsage },
]
