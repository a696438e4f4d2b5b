import { Combobox as Base } from '@base-ui/react/combobox'
import { Check, ChevronsUpDown, X } from 'lucide-react'
import { type ReactNode, useMemo, useState } from 'react'
import { classNames, OPTION, POPUP } from '../class-names.ts'
import { CONTROL, FieldFrame, type FieldProps, useField } from './field-frame.tsx'

export interface ComboboxOption {
  readonly value: string
  readonly label: string
  readonly hint?: string | undefined
  /** What is read out; label and hint unless set. */
  readonly name?: string | undefined
  /** Found by typing; listed only when asked for. */
  readonly isFolded?: boolean | undefined
}

export interface ComboboxProps extends FieldProps {
  /** Empty: nothing is chosen. */
  readonly value: string
  readonly onChange: (value: string) => void
  readonly options: readonly ComboboxOption[]
  readonly placeholder?: string | undefined
  /** What options are called that are folded away: `retired`. */
  readonly foldedWord?: string | undefined
}

/** One of many, found by typing a part of its name. */
export function Combobox(props: ComboboxProps) {
  const { value, onChange, options, placeholder = 'Search', disabled, required } = props
  const ids = useField(props)
  const { listed, foldedCount, unfold, ...listening } = useFolded(options, value)
  const chosen = options.find((option) => option.value === value) ?? unlisted(value)
  return (
    <FieldFrame field={props} ids={ids}>
      <Base.Root
        {...listening}
        items={listed}
        value={chosen}
        onValueChange={(option) => onChange(option?.value ?? '')}
        itemToStringLabel={(option: ComboboxOption) => option.label}
        isItemEqualToValue={(option, other) => option.value === other.value}
        disabled={disabled}
        required={required}
        autoHighlight
      >
        <div className="relative flex items-center">
          <Base.Input {...ids.control} placeholder={placeholder} className={classNames(CONTROL, 'h-9 pr-16 pl-3')} />
          <div className="absolute right-1.5 flex items-center">
            {chosen !== null && (
              <Base.Clear aria-label={`Clear ${props.label}`} className={SMALL}>
                <X aria-hidden className="size-4" />
              </Base.Clear>
            )}
            <Base.Trigger aria-label="Show all" className={SMALL}>
              <ChevronsUpDown aria-hidden className="size-4" />
            </Base.Trigger>
          </div>
        </div>
        <Suggestions>
          {foldedCount > 0 && (
            <button type="button" onClick={unfold} className={classNames(OPTION, 'w-full text-soft hover:bg-hover')}>
              {`Show ${foldedCount} ${props.foldedWord ?? 'more'}`}
            </button>
          )}
        </Suggestions>
      </Base.Root>
    </FieldFrame>
  )
}

const SMALL = 'flex size-6 items-center justify-center rounded-md text-faint hover:bg-hover hover:text-ink'

/** Options that are folded away are listed once somebody types, asks for them, or has chosen them. */
function useFolded(options: readonly ComboboxOption[], value: string) {
  const [isUnfolded, setUnfolded] = useState(false)
  const [isTyping, setTyping] = useState(false)
  const isWhole = isUnfolded || isTyping
  const listed = useMemo(
    () => (isWhole ? options : options.filter((option) => option.isFolded !== true || option.value === value)),
    [options, isWhole, value],
  )
  return {
    listed,
    foldedCount: options.length - listed.length,
    unfold: () => setUnfolded(true),
    onInputValueChange: (text: string, { reason }: Base.Root.ChangeEventDetails) =>
      setTyping(reason === 'input-change' && text !== ''),
    onOpenChange: (isOpen: boolean) => {
      if (isOpen) setUnfolded(false)
    },
  }
}

function Suggestions({ children }: { readonly children: ReactNode }) {
  return (
    <Base.Portal>
      <Base.Positioner sideOffset={4} align="start" className="z-60">
        <Base.Popup
          className={classNames(POPUP, 'max-h-[min(var(--available-height),22rem)] w-(--anchor-width) min-w-60')}
        >
          <Base.Empty className="empty:hidden">
            <span className="block px-2 py-1.5 text-soft">No matches</span>
          </Base.Empty>
          <Base.List>
            {(option: ComboboxOption) => (
              <Base.Item key={option.value} value={option} className={OPTION}>
                <span className="flex size-4 shrink-0 items-center">
                  <Base.ItemIndicator>
                    <Check aria-hidden className="size-4" />
                  </Base.ItemIndicator>
                </span>
                {option.name !== undefined && <span className="sr-only">{option.name}</span>}
                <span aria-hidden={option.name !== undefined} className="flex min-w-0 flex-1 items-baseline gap-2">
                  <span className="min-w-0 flex-1 break-words">{option.label}</span>
                  {option.hint !== undefined && (
                    <span className="shrink-0 text-sm text-soft tabular-nums">{option.hint}</span>
                  )}
                </span>
              </Base.Item>
            )}
          </Base.List>
          {children}
        </Base.Popup>
      </Base.Positioner>
    </Base.Portal>
  )
}

/** What was chosen stays to be seen while the options are still loading, or no longer have it. */
function unlisted(value: string): ComboboxOption | null {
  return value === '' ? null : { value, label: value }
}
