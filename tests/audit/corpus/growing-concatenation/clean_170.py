import pandas as pd


def prices(api, names):
    """Parts in a list are joined once."""
    parts = []
    for name in names:
        parts.append(api.bars(name))
    return pd.concat(parts)


def doubled(tables, extra):
    """Each is another table."""
    for name in tables:
        tables[name] = tables[name].append(extra)
    return tables


def running(api, names, strategy):
    """Each turn needs all that was there before."""
    table = pd.DataFrame()
    for name in names:
        table = table.append(api.bars(name))
        strategy.decide(table)
    return table


def steps(path, kinds):
    """Two parts."""
    for kind in ("train", "test"):
        path = path.append(kind)
    return path
