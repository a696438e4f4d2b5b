export const BUNDLE_FOLDER: string
export const INPUTS_FILE: string
export function freshBundle(): URL | undefined
export function isFresh(): boolean
