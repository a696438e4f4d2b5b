/** How far a wall clock may be ahead of the time that has passed since it was last believed. */
const TOLERANCE_MS = 1_000
/** A clock that stays ahead for so long was set right, or the machine was suspended. */
const BELIEVED_AFTER_MS = 30_000

/**
 * A wall clock that does not follow a jump ahead at once: what a clock says that is wrong for a moment would date everything
 * that must not be earlier afterwards. One that goes back is followed.
 * @param wall Unix milliseconds. @param monotonic Milliseconds.
 * @returns Unix milliseconds.
 */
export function createSteadyClock(wall: () => number, monotonic: () => number): () => number {
  let believed = { wall: wall(), monotonic: monotonic() }
  let aheadSince: number | undefined
  return () => {
    const read = { wall: wall(), monotonic: monotonic() }
    const expected = believed.wall + Math.floor(read.monotonic - believed.monotonic)
    const isAhead = read.wall > expected + TOLERANCE_MS
    if (isAhead) aheadSince ??= read.monotonic
    if (isAhead && read.monotonic - (aheadSince ?? 0) < BELIEVED_AFTER_MS) return expected
    aheadSince = undefined
    believed = read
    return read.wall
  }
}
