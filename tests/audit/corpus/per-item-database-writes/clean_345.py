"""What is saved into files, or put into lists, and stores that are handed all at once."""


def draw(figures, names):
    for fig in figures:
        fig.save()
    for name in sorted(names):
        names.insert(0, name)


def remember(collection, chunks, table):
    collection.add(ids=[each.id for each in chunks], documents=[each.text for each in chunks])
    for row, place in enumerate(chunks):
        table.insert(0, place)
    table.upsert(chunks)
