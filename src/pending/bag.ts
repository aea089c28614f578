/** What a bag holds has its place in it. */
export interface Bagged { place: number }

/**
 * Items in no order, added and deleted at the same cost however many there are. Not a Set: with steady additions and
 * deletions, its dead tables keep each other, and each request, until a full garbage collection. That takes 20 % of the
 * throughput.
 */
export class Bag<Item extends Bagged> {
  readonly items: Item[] = []

  add (item: Item): void {
    item.place = this.items.length
    this.items.push(item)
  }

  /** Deletes an item, if it is there: the last one takes its place. */
  delete (item: Item): void {
    if (this.items[item.place] !== item) return
    const last = this.items.pop() as Item
    if (last === item) return
    this.items[item.place] = last
    last.place = item.place
  }
}
