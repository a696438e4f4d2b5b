/** How fast and how reliably completions were answered, by hour, model and provider: counts, and histograms of times. */
import { bucketSql } from '../../lib/log-buckets.ts'
import { oneOf } from './statement.ts'

const MEASURES = ['requests', 'failed', 'completed', 'first_byte', 'duration']

const performanceHour = `create table performance_hour (
  account_id text not null,
  hour integer not null check (hour >= 0),
  model text not null,
  provider text not null,
  measure text not null check (${oneOf('measure', MEASURES)}),
  bucket integer not null check (bucket >= 0),
  count integer not null check (count > 0),
  primary key (account_id, hour, model, provider, measure, bucket)
) strict, without rowid`

/** The provider refused the content of the request, which says nothing of it. */
const REJECTED = `(attempt_log is not null and attempt_log like '%"outcome":"rejected"%')`

/** Of the weeks that are shown. */
const KEPT_MS = 35 * 86_400_000

const part = (measure: string, bucket: string, condition: string) => `
select account_id, created_at / 3600000, model, provider, '${measure}', ${bucket}, count(*)
from completion where created_at >= (select max(created_at) from completion) - ${KEPT_MS} and ${condition}
group by 1, 2, 3, 4, 5, 6`

const ofWhatIsThere = [
  part('requests', '0', 'true'),
  part('failed', '0', `(status = 'incomplete' or (status = 'failed' and not ${REJECTED}))`),
  part('completed', '0', "status = 'completed'"),
  part('first_byte', bucketSql('first_byte_ms'), 'stream = 1 and first_byte_ms is not null'),
  part('duration', bucketSql('duration_ms'), "status = 'completed'"),
].map((rows) => `insert into performance_hour (account_id, hour, model, provider, measure, bucket, count)${rows}`)

export const performanceHours: readonly string[] = [performanceHour, ...ofWhatIsThere]
