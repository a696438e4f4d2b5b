import { ChevronLeft, ChevronRight } from 'lucide-react'
import { monthName } from '../../lib/time.ts'
import { IconButton } from '../../ui/button.tsx'
import { SelectField } from '../../ui/field.tsx'
import { addMonths, monthsBack } from './months.ts'

interface MonthPickerProps {
  readonly value: string
  readonly onChange: (month: string) => void
  /** This month, and the first that there is anything of. */
  readonly latest: string
  readonly earliest: string
}

export function MonthPicker({ value, onChange, latest, earliest }: MonthPickerProps) {
  const months = monthsBack(value > latest ? value : latest, value < earliest ? value : earliest)
  return (
    <div className="flex items-end gap-1">
      <IconButton
        label="Month before"
        icon={ChevronLeft}
        disabled={value <= earliest}
        onClick={() => onChange(addMonths(value, -1))}
      />
      <SelectField
        label="Month"
        hideLabel
        className="w-44"
        value={value}
        onChange={onChange}
        options={months.map((month) => ({ value: month, label: monthName(month) }))}
      />
      <IconButton
        label="Month after"
        icon={ChevronRight}
        disabled={value >= latest}
        onClick={() => onChange(addMonths(value, 1))}
      />
    </div>
  )
}
