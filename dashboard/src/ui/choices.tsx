/** Ways to choose that are no fields of a form: views, modes, actions. */
export { Combobox, type ComboboxOption, type ComboboxProps } from './combobox.tsx'
export { Menu, type MenuEntry, type MenuProps } from './menu.tsx'
export { Segmented, type SegmentedProps } from './segmented.tsx'
export { type TabItem, Tabs, type TabsProps } from './tabs.tsx'
