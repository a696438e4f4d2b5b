import { Select } from '@base-ui/react/select'
import { Check, ChevronsUpDown } from 'lucide-react'
import { classNames, OPTION, POPUP } from '../class-names.ts'
import { CONTROL, FieldFrame, type FieldProps, useField } from './field-frame.tsx'

export interface SelectChoice<Value extends string> {
  readonly value: Value
  readonly label: string
  readonly description?: string | undefined
  readonly disabled?: boolean | undefined
}

export interface SelectFieldProps<Value extends string> extends FieldProps {
  readonly value: Value
  readonly onChange: (value: Value) => void
  readonly options: readonly SelectChoice<Value>[]
  /** Shown while the value is none of the options. */
  readonly placeholder?: string | undefined
}

/** One of a few. For many, there is `Combobox`. */
export function SelectField<Value extends string>(props: SelectFieldProps<Value>) {
  const { value, onChange, options, placeholder = 'Choose', name, required, disabled } = props
  const ids = useField(props)
  const chosen = options.find((option) => option.value === value)
  return (
    <FieldFrame field={props} ids={ids}>
      <Select.Root
        value={value}
        onValueChange={(next) => {
          if (next !== null) onChange(next)
        }}
        items={options}
        name={name}
        required={required}
        disabled={disabled}
        modal={false}
      >
        <Select.Trigger
          {...ids.control}
          aria-labelledby={`${ids.labelId} ${ids.id}`}
          className={classNames(CONTROL, 'flex h-9 items-center justify-between gap-2 pr-2.5 pl-3 text-left')}
        >
          <span className={classNames('min-w-0 truncate', chosen === undefined && 'text-faint')}>
            {chosen?.label ?? placeholder}
          </span>
          <ChevronsUpDown aria-hidden className="size-4 shrink-0 text-faint" />
        </Select.Trigger>
        <Select.Portal>
          <Select.Positioner alignItemWithTrigger={false} sideOffset={4} className="z-60">
            <Select.Popup className={classNames(POPUP, 'min-w-(--anchor-width)')}>
              <Select.List>
                {options.map((option) => (
                  <Choice key={option.value} option={option} />
                ))}
              </Select.List>
            </Select.Popup>
          </Select.Positioner>
        </Select.Portal>
      </Select.Root>
    </FieldFrame>
  )
}

function Choice<Value extends string>({ option }: { readonly option: SelectChoice<Value> }) {
  return (
    <Select.Item value={option.value} disabled={option.disabled} label={option.label} className={OPTION}>
      <span className="flex size-4 shrink-0 items-center">
        <Select.ItemIndicator>
          <Check aria-hidden className="size-4" />
        </Select.ItemIndicator>
      </span>
      <span className="min-w-0">
        <Select.ItemText className="block break-words">{option.label}</Select.ItemText>
        {option.description !== undefined && (
          <span className="block max-w-sm text-sm text-soft">{option.description}</span>
        )}
      </span>
    </Select.Item>
  )
}
