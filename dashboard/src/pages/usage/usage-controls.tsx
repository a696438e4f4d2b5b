/** How usage is looked at: by what, in which measure, and of what alone. */
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { GROUP_NAMES, GROUPS, type Group, groupLabel } from '../../lib/group-names.ts'
import { METRIC_NAMES, METRICS, type Metric } from '../../lib/measures.ts'
import type { Period } from '../../lib/period.ts'
import { Combobox } from '../../ui/form/combobox.tsx'
import { Segmented } from '../../ui/form/segmented.tsx'
import { SwitchField } from '../../ui/form/toggle-fields.tsx'
import { useUsageChange, useUsageSearch } from './address.ts'
import { optionsQuery } from './queries.ts'
import { INTERVALS, type Interval } from './search.ts'

export interface UsageControlsProps {
  readonly group: Group
  readonly metric: Metric
  readonly interval: Interval | undefined
  readonly canChooseInterval: boolean
  readonly period: Period
}

const INTERVAL_NAMES: Readonly<Record<Interval, string>> = { hour: 'Hourly', day: 'Daily' }

export function UsageControls({ group, metric, interval, canChooseInterval, period }: UsageControlsProps) {
  const change = useUsageChange()
  const { cumulative } = useUsageSearch()
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Labelled text="Group by">
          <Segmented
            label="Group by"
            value={group}
            onChange={(next) => change({ group: next === 'model' ? undefined : next, sort: undefined, dir: undefined })}
            options={GROUPS.map((value) => ({ value, label: GROUP_NAMES[value] }))}
          />
        </Labelled>
        <Segmented
          label="Measure"
          value={metric}
          onChange={(next) => change({ metric: next === 'spend' ? undefined : next })}
          options={METRICS.map((value) => ({ value, label: METRIC_NAMES[value] }))}
        />
        {canChooseInterval && interval !== undefined && (
          <Segmented
            label="Interval"
            value={interval}
            onChange={(next) => change({ interval: next })}
            options={INTERVALS.map((value) => ({ value, label: INTERVAL_NAMES[value] }))}
          />
        )}
        {group !== 'agent' && (
          <SwitchField
            label="Cumulative"
            checked={cumulative === '1'}
            onChange={(isOn) => change({ cumulative: isOn ? '1' : undefined })}
            className="items-center"
          />
        )}
      </div>
      <UsageFilters period={period} />
    </div>
  )
}

export function Labelled({ text, children }: { readonly text: string; readonly children: ReactNode }) {
  return (
    <span className="inline-flex max-w-full flex-wrap items-center gap-x-2 gap-y-1">
      <span aria-hidden className="text-sm text-soft">
        {text}
      </span>
      {children}
    </span>
  )
}

function UsageFilters({ period }: { readonly period: Period }) {
  const change = useUsageChange()
  const { model = '', key_id: keyId = '' } = useUsageSearch()
  const options = useQuery(optionsQuery(period)).data?.report
  const models = options?.breakdown_by_model.map((each) => ({ value: each.model, label: each.model })) ?? []
  const keys = options?.groups?.map((each) => ({ value: each.key, label: groupLabel('key', each) })) ?? []
  return (
    <div className="grid gap-2 sm:flex sm:flex-wrap">
      <Combobox
        label="Model"
        hideLabel
        placeholder="All models"
        className="sm:w-64"
        value={model}
        onChange={(next) => change({ model: next === '' ? undefined : next })}
        options={models}
      />
      <Combobox
        label="Key"
        hideLabel
        placeholder="All keys"
        className="sm:w-64"
        value={keyId}
        onChange={(next) => change({ key_id: next === '' ? undefined : next })}
        options={keys}
      />
    </div>
  )
}
