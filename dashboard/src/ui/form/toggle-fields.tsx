/** Fields that are on or off, and choices that are all seen at once. The browser's own controls, in our colors. */
import { type ReactNode, useId } from 'react'
import { classNames } from '../class-names.ts'
import { type FieldProps, GroupFrame, useField } from './field-frame.tsx'

export interface CheckboxFieldProps
  extends Pick<FieldProps, 'label' | 'description' | 'name' | 'disabled' | 'className'> {
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
  readonly required?: boolean | undefined
}

export function CheckboxField({ label, description, checked, onChange, name, ...rest }: CheckboxFieldProps) {
  const id = useId()
  const { disabled, required, className } = rest
  return (
    <Choice id={id} label={label} description={description} className={className}>
      <input
        id={id}
        type="checkbox"
        name={name}
        checked={checked}
        disabled={disabled}
        required={required}
        aria-describedby={description === undefined ? undefined : `${id}-description`}
        onChange={(event) => onChange(event.target.checked)}
        className={BOX}
      />
    </Choice>
  )
}

/** What takes effect at once, without a form being sent. */
export function SwitchField({ label, description, checked, onChange, name, ...rest }: CheckboxFieldProps) {
  const id = useId()
  const { disabled, className } = rest
  return (
    <div className={classNames('flex items-start justify-between gap-4 py-1', className)}>
      <ChoiceText id={id} label={label} description={description} />
      <span className="relative inline-flex h-6 w-10 shrink-0">
        <input
          id={id}
          type="checkbox"
          role="switch"
          aria-checked={checked}
          name={name}
          checked={checked}
          disabled={disabled}
          aria-describedby={description === undefined ? undefined : `${id}-description`}
          onChange={(event) => onChange(event.target.checked)}
          className="peer size-full cursor-pointer appearance-none rounded-full border border-strong bg-sunken transition-colors checked:border-transparent checked:bg-accent disabled:cursor-not-allowed disabled:opacity-50 forced-colors:appearance-auto"
        />
        <span
          aria-hidden
          className="pointer-events-none absolute top-1 left-1 size-4 rounded-full bg-strong transition-transform peer-checked:translate-x-4 peer-checked:bg-on-accent forced-colors:hidden"
        />
      </span>
    </div>
  )
}

export interface Option<Value extends string> {
  readonly value: Value
  readonly label: string
  readonly description?: ReactNode
  readonly disabled?: boolean | undefined
}

export interface RadioGroupFieldProps<Value extends string> extends FieldProps {
  readonly value: Value | undefined
  readonly onChange: (value: Value) => void
  readonly options: readonly Option<Value>[]
}

export function RadioGroupField<Value extends string>(props: RadioGroupFieldProps<Value>) {
  const { value, onChange, options } = props
  const ids = useField(props)
  return (
    <GroupFrame field={props} ids={ids}>
      {options.map((option) => (
        <OptionChoice key={option.value} option={option} ids={ids.id}>
          {(control) => (
            <input
              {...control}
              type="radio"
              name={ids.id}
              checked={option.value === value}
              onChange={() => onChange(option.value)}
              className={classNames(BOX, 'rounded-full')}
            />
          )}
        </OptionChoice>
      ))}
    </GroupFrame>
  )
}

export interface CheckboxGroupProps<Value extends string> extends FieldProps {
  readonly options: readonly Option<Value>[]
  readonly value: readonly Value[]
  /** What is chosen, in the order of the options. */
  readonly onChange: (value: readonly Value[]) => void
}

export function CheckboxGroup<Value extends string>(props: CheckboxGroupProps<Value>) {
  const { options, value, onChange } = props
  const ids = useField(props)
  const toggle = (toggled: Value) => {
    const isChosen = (each: Value) => (each === toggled ? !value.includes(each) : value.includes(each))
    onChange(options.map((option) => option.value).filter(isChosen))
  }
  return (
    <GroupFrame field={props} ids={ids}>
      {options.map((option) => (
        <OptionChoice key={option.value} option={option} ids={ids.id}>
          {(control) => (
            <input
              {...control}
              type="checkbox"
              checked={value.includes(option.value)}
              onChange={() => toggle(option.value)}
              className={BOX}
            />
          )}
        </OptionChoice>
      ))}
    </GroupFrame>
  )
}

const BOX = 'm-1 size-4 shrink-0 cursor-pointer accent-accent disabled:cursor-not-allowed'

interface OptionChoiceProps<Value extends string> {
  readonly option: Option<Value>
  /** What the ids of its parts begin with. */
  readonly ids: string
  readonly children: (control: OptionControl) => ReactNode
}

interface OptionControl {
  readonly id: string
  readonly disabled: boolean | undefined
  readonly 'aria-describedby': string | undefined
}

function OptionChoice<Value extends string>({ option, ids, children }: OptionChoiceProps<Value>) {
  const { value, label, description, disabled } = option
  const id = `${ids}-${value}`
  return (
    <Choice id={id} label={label} description={description}>
      {children({ id, disabled, 'aria-describedby': description === undefined ? undefined : `${id}-description` })}
    </Choice>
  )
}

interface ChoiceProps {
  readonly id: string
  readonly label: string
  readonly description: ReactNode
  readonly className?: string | undefined
  readonly children?: ReactNode
}

function Choice({ id, label, description, className, children }: ChoiceProps) {
  return (
    <div className={classNames('flex items-start gap-1.5 py-1', className)}>
      {children}
      <ChoiceText id={id} label={label} description={description} />
    </div>
  )
}

function ChoiceText({ id, label, description }: ChoiceProps) {
  return (
    <div className="min-w-0 flex-1">
      <label htmlFor={id} className="block min-h-6 py-0.5 text-ink">
        {label}
      </label>
      {description !== undefined && (
        <div id={`${id}-description`} className="text-sm text-soft">
          {description}
        </div>
      )}
    </div>
  )
}
