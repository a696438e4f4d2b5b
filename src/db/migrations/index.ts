/** All migrations in order. They are applied once, forward only, and never edited after a release. */
import { firstSchema } from './0001-first-schema.ts'
import { usageReports } from './0002-usage-reports.ts'
import { money } from './0003-money.ts'
import { instances } from './0004-instances.ts'
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
]
