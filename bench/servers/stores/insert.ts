export interface Plant { id: number, name: string, tag?: string | undefined }
/** Returns false if the id is taken. */
export type Insert = (plant: Plant) => boolean | Promise<boolean>
/** Resolves to whether each plant was new. */
export type InsertMany = (plants: Plant[]) => Promise<boolean[]>
