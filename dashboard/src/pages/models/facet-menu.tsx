/** One facet: a button that says what is chosen, and the choices with how many models each leaves. */
import { Popover } from '@base-ui/react/popover'
import { ChevronDown } from 'lucide-react'
import { useId } from 'react'
import { formatCount } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { classNames } from '../../ui/class-names.ts'

export interface FacetChoice {
  readonly value: string
  readonly label: string
  readonly count: number
}

export interface FacetMenuProps {
  readonly label: string
  readonly choices: readonly FacetChoice[]
  readonly value: readonly string[]
  readonly onChange: (value: readonly string[]) => void
  /** One of them, or none. */
  readonly isSingle?: boolean
}

export function FacetMenu(props: FacetMenuProps) {
  const { label, choices, value } = props
  const chosen = value.map((each) => choices.find((choice) => choice.value === each)?.label ?? each)
  return (
    <Popover.Root>
      <Popover.Trigger
        render={
          <Button className={classNames('max-w-full', value.length > 0 && 'border-accent bg-accent-soft')}>
            <span className="truncate">
              {label}
              {chosen.length > 0 && <span className="text-accent">: {chosen.join(', ')}</span>}
            </span>
            <ChevronDown aria-hidden className="size-4 shrink-0 text-faint" />
          </Button>
        }
      />
      <Popover.Portal>
        <Popover.Positioner sideOffset={4} align="start" className="z-60">
          <Popover.Popup className="max-h-(--available-height) w-64 max-w-(--available-width) overflow-y-auto rounded-xl border border-line bg-surface p-1.5 shadow-popup">
            <Popover.Title className="px-2 py-1 text-sm font-medium text-soft">{label}</Popover.Title>
            <Choices {...props} />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

function Choices({ label, choices, value, onChange, isSingle = false }: FacetMenuProps) {
  const name = useId()
  const toggle = (toggled: string) => {
    const rest = value.filter((each) => each !== toggled)
    onChange(rest.length === value.length ? [...rest, toggled] : rest)
  }
  return (
    <fieldset>
      <legend className="sr-only">{label}</legend>
      {isSingle && (
        <ChoiceRow label="Any">
          <input type="radio" name={name} checked={value.length === 0} onChange={() => onChange([])} className={BOX} />
        </ChoiceRow>
      )}
      {choices.map((choice) => (
        <ChoiceRow key={choice.value} label={choice.label} count={choice.count}>
          <input
            type={isSingle ? 'radio' : 'checkbox'}
            name={isSingle ? name : undefined}
            checked={value.includes(choice.value)}
            onChange={() => (isSingle ? onChange([choice.value]) : toggle(choice.value))}
            className={BOX}
          />
        </ChoiceRow>
      ))}
    </fieldset>
  )
}

const BOX = 'size-4 shrink-0 cursor-pointer accent-accent'

interface ChoiceRowProps {
  readonly label: string
  readonly count?: number
  readonly children: React.ReactNode
}

function ChoiceRow({ label, count, children }: ChoiceRowProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is what is passed in
    <label className="flex min-h-8 cursor-pointer items-center gap-2.5 rounded-lg px-2 py-1 hover:bg-hover">
      {children}
      <span className="min-w-0 flex-1 break-words text-ink">{label}</span>
      {count !== undefined && (
        <span className="text-sm text-soft tabular-nums">
          {formatCount(count)}
          <span className="sr-only"> {count === 1 ? 'model' : 'models'}</span>
        </span>
      )}
    </label>
  )
}
