import latents

BUILDERS = {"map": latents.build_map_style}


def build_loader(path, kind="map"):
    return BUILDERS[kind](path, 4)
