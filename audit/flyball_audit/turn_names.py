"""Names of functions that whoever trains, or evaluates, calls for each batch; and of those that nobody does."""

import re

_PARTS = (
    r"policy|actor|critic|model|net(work)?|param(eter)?s?|weights?|agent|values?|q|qf|pi|ema|teacher|student|encoder"
    r"|generator|discriminator|loss(es)?|batch|samples?|step|d|g"
)
STEP = re.compile(
    r"^_?(train|training|fit|learn|do|process|handle|optimi[sz]e|run|update)_((one|single|on|a)_)?"
    r"(step|batch|mini_?batch|iter(ation)?)$"
    rf"|^_?(update|learn|optimi[sz]e)(_from|_for|_on)?(_\w*({_PARTS}))?$"
    r"|^_?param(eter)?s?_update$|^closure$|^loss$|^forward_(train|\w*(rnn|lstm|gru|masked|sequence|batch)\w*)$|^_prepare_inputs$"
    r"|^_?(calc(ulate)?|compute|get|forward|cal)_(\w+_)?loss(es)?(_(q|pi|v|d|g|dict|actor|critic|policy))?$"
    r"|^_?on_(train_)?batch$|^_?((run|do|loss|forward)_)?backward(_pass)?$"
    r"|^(on_)?(batch|step|iter)_(end|done)$"
    r"|^(on_)?(before|after)_(train(ing)?_)?(step|batch|iter(ation)?|forward|backward|update|loss)(_end)?$",
    re.IGNORECASE,
)
"""In names of functions that whoever trains calls for each batch."""

CHECK = re.compile(
    r"^_?(val(id(ate|ation)?)?|eval(uat(e|ion))?|test|prediction|inference)_((one|single|on|a)_)?(step|batch|iter(ation)?)$"
)
"""… and for each batch of an evaluation."""

NO_STEPS = re.compile(
    r"epoch|main|demo|example|attack|salien|_cam|explain|attribut|interpret|visuali|hessian|jacobian|eval|valid|predict"
    r"|infer|(?<![a-z])test|init|setup|warm_?up|bench|profil|debug|check|find|save|load|plot|state_dict|repr|__del__"
    r"|sample|generate|export|build|create|make|summar",
    re.IGNORECASE,
)
"""In names of functions whose backward passes explain, try or show something, or that run once."""

TRAINS = re.compile(r"(?<![a-z])(train|fit|learn|optimi[sz]e)|(?<![a-z])main(?![a-z])", re.IGNORECASE)
"""In names of functions whose loops over batches train."""
