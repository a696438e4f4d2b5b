import { Segmented } from '../../ui/choices.tsx'
import type { Column } from './conversation.ts'
import type { SheetPlace } from './sheets.tsx'

/** Whose request is shown, where there are several. */
export function ColumnChoice({ columns, place }: { readonly columns: readonly Column[]; readonly place: SheetPlace }) {
  if (columns.length < 2) return null
  return (
    <Segmented
      label="Model"
      value={String(place.number)}
      onChange={(number) => place.onNumber(Number(number))}
      options={columns.map(({ model }, index) => ({
        value: String(index + 1),
        label: labelOf(model, index, columns),
      }))}
    />
  )
}

/** Of two columns with the same model, each has its place behind its name. */
function labelOf(model: string, index: number, columns: readonly Column[]): string {
  if (model === '') return `Model ${index + 1}`
  return columns.filter((column) => column.model === model).length > 1 ? `${model} (${index + 1})` : model
}
