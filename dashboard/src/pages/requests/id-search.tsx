import { useState } from 'react'
import { useFindId } from '../../shell/use-find-id.ts'
import { SearchField } from '../../ui/form/field.tsx'

/** Takes any ID that stands in a log, a header or another page, and goes to what has it. */
export function IdSearch() {
  const [text, setText] = useState('')
  const find = useFindId()
  return (
    <search>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (text.trim() !== '') void find(text.trim())
        }}
      >
        <SearchField
          label="Find by ID"
          placeholder="Find any ID"
          value={text}
          onChange={setText}
          className="w-72 max-w-full"
        />
      </form>
    </search>
  )
}
