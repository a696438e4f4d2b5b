import { Plus } from 'lucide-react'
import { Button } from '../../ui/button.tsx'
import type { ComboboxOption } from '../../ui/choices.tsx'
import { classNames } from '../../ui/class-names.ts'
import type { CallableModel } from './callable.ts'
import { ColumnView } from './column.tsx'
import { MAX_COLUMNS } from './search.ts'
import type { PlaygroundState } from './use-playground.ts'

export interface ColumnsProps {
  readonly playground: PlaygroundState
  readonly models: ReadonlyMap<string, CallableModel>
  readonly options: readonly ComboboxOption[]
  readonly onChoose: (models: readonly string[]) => void
  /** @param number Counts from 1. */
  readonly onShowRaw: (number: number) => void
}

const GRIDS = ['', 'md:grid-cols-1', 'md:grid-cols-2', 'md:grid-cols-3'] as const

export function Columns({ playground, models, options, onChoose, onShowRaw }: ColumnsProps) {
  const { columns, isEmpty, actions } = playground
  const ids = columns.map(({ model }) => model)
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <div
        className={classNames(
          'grid min-w-0 gap-3',
          GRIDS[columns.length],
          !isEmpty && 'lg:h-[max(22rem,calc(100dvh-24rem))] lg:auto-rows-[100%]',
        )}
      >
        {columns.map((column, index) => (
          <ColumnView
            key={column.id}
            column={column}
            number={index + 1}
            model={models.get(column.model)}
            options={options}
            canRemove={columns.length > 1}
            actions={actions}
            onModel={(model) => onChoose(ids.with(index, model))}
            onRemove={() => onChoose(ids.toSpliced(index, 1))}
            onShowRaw={() => onShowRaw(index + 1)}
          />
        ))}
      </div>
      {columns.length < MAX_COLUMNS && (
        <div>
          <Button size="sm" variant="ghost" icon={Plus} onClick={() => onChoose([...ids, ''])}>
            Compare with another model
          </Button>
        </div>
      )}
    </div>
  )
}
