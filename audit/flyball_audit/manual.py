"""The words of `docs/audit.md` around what is made from the rules."""

HEAD = """\
# Auditing training code

`flyball audit PATH…` reads training code, which it never runs, and says what will make the training slow: few findings,
each with its place, its cause, the change to make, and what that gives, with its source. It needs neither torch nor a
GPU. This page is made from the rules (`python -m flyball_audit.document docs/audit.md`; a test holds it to
them).

## Begin
```
flyball audit train.py
flyball audit src --output audit.html            # also .md, .json, .sarif, .txt
flyball audit src --format json | jq '.findings[] | select(.severity == "warning")'
flyball audit src --diff | git apply             # the changes, as patches
flyball audit src --fix                          # write those that leave results as they are
flyball audit src --evidence measured.yaml       # weigh findings by what was measured
flyball audit src --select 'loader-*,retained-graph' --ignore loader-not-persistent
```
```text
train.py:14:9: warning [retained-graph] `total` keeps `loss` with its history
  12 │         optimizer.step()
  13 │         optimizer.zero_grad()
  14 │         total += loss
     │         ^^^^^^^^^^^^^
  15 │         torch.cuda.empty_cache()
  because   each turn of the loop at train.py:9 adds a graph with all its activations, and none is let go
  change    Detach it: `total += loss.detach()`. (--fix does it)
  expected  memory stays level; a larger batch fits; no time by itself (PyTorch's FAQ, “My model reports CUDA out of
            memory”: https://docs.pytorch.org/docs/stable/notes/faq.html)
  sure      95 %

train.py:3:9: note [no-compile] `torch.nn.Linear` is trained without being compiled

1 warning and 1 note in 1 of 1 file.
--fix writes 1 safe change.
Notes are worth a look; -v shows them in full, --evidence FILE weighs them by measurements.
```
*because* is what was seen in this code, *change* what to do, *expected* what that gives and who says so, *sure* how
probable it is that an expert would ask for it.

Files and notebooks are read together: values are followed through imports, assignments and calls between them, so name
the folder rather than one file. Of notebooks, lines count within their cell. What cannot be read (Python 2, broken
syntax, binary) is said and left out.

- **error**: slow or wrong for certain. **warning**: slow in all likelihood. **note**: worth a look; whether it matters
  here, a measurement says. That something is absent (compilation, mixed precision, workers …) is a note by itself.
- Arguments that are unpacked (`**options`) and values from a configuration are unknown, not missing. What happens every
  N steps, on one rank, or behind a flag weighs less; a question for a GPU (`torch.cuda.is_available()`) changes
  nothing. What a module does when it is not told to train (`if not self.training:`) is in no training step.
- A step need not stand in a loop that the audit sees: methods that Lightning, Transformers, fastai, Ignite, MMEngine,
  Catalyst, Composer, Detectron2 and fairseq call for each batch are known by their class or event. What is only named
  as such (`train_step`, `calculate_loss`, `on_batch_end`, `validation_step`), has a backward pass or a step of its own,
  is a module's forward pass, the step of an optimizer of one's own, a pass of an `autograd.Function`, an average's
  update or a function that computes with the tensors it is handed, is called by a seen loop through an object that
  nobody knows, or brings what a model gives to the host turn by turn though no batches are gone through, is looked at
  too: what is found there is a note that says so.

| exit status | means |
|---|---|
| 0 | nothing as bad as `--fail-on`: `note`, `warning` (unless told otherwise), `error`, or `never` |
| 1 | something as bad as that, or worse |
| 2 | wrong use: a name, a file or an option that is not there, or nothing that could be read |

| `--format` | suffix of `--output` | for |
|---|---|---|
| `terminal` | `.txt` | reading here; notes in a line each, in full with `-v` |
| `markdown` | `.md` | a report: summary, estimate, findings by severity, what is left to do, a checklist |
| `html` | `.html` | the same as a page that needs no network |
| `json` | `.json` | programs |
| `sarif` | `.sarif` | SARIF 2.1.0, which code hosts and editors show beside the code |

JSON has `schema_version`, `findings`, `files` (how many were read), `errors` (what could not be), `withdrawn` (findings
that measurements contradict, each with its `reason`), `mended` (what `--fix` wrote) and `estimate`. A finding has
`rule`, `path`, `line`, `column`, `end_line`, `end_column`, `cell` (of a notebook), `severity`, `confidence` (0 to 1),
`message`, `because`, `change`, `expected`, `up_to_ratio` and `time` (null without a figure), `diff` (a patch, or
empty) and `safe`. Within a major version fields are added, never renamed. A call at the end of a chain over several
lines is told where its method stands, attention where its scores are made, missing `no_grad` at the model's call, a
loader at the call that makes it.

## Switching rules off
1. **For a place**, by a comment with a reason: on the line (of a chain over several lines, on any of them), or alone
   on the line above it; `ignore-file` is for the whole file. Several rules stand between commas, none means all. A
   comment without a reason is obeyed and noted.
   ```python
   total += loss.item()  # flyball: ignore[sync-every-step] the progress bar is worth it
   # flyball: ignore[loader-few-workers, loader-not-persistent] the disk is the limit here
   loader = DataLoader(data, num_workers=1)
   # flyball: ignore-file[small-batch] written to be read
   ```
2. **For a folder**, in `flyball-audit.toml`, or in `pyproject.toml` under `[tool.flyball.audit]`; the nearest at or
   above the paths counts ([an example](../examples/audit/flyball-audit.toml)). Patterns may stand for names.
   ```toml
   ignore = ["cudnn-benchmark-unset", "loader-*"]
   [severity]
   retained-graph = "error"
   ```
3. **For once**, by option: `--ignore cudnn-benchmark-unset,loader-*`, or `--select` for some rules alone. `--ignore`
   adds to the file's, `--select` takes the place of it; `--config FILE` names another file.

An unknown name is an error that names the nearest known one. What a file of settings may say:
"""

FIXES = """\
## Changes
`--fix` writes a change only if results stay the same to the bit: it never touches workers, compilation or precision.
Comments, spaces, encodings and line ends stay as they are; the file is audited again, until nothing safe is left.
`--diff` prints all changes that are known as patches for `git apply`: first the safe ones, then, upon them, those to be
looked at first. Notebooks are not changed.
"""

MEASURED = """\
## Measured facts
`--evidence FILE` takes a file of facts ([an example](../examples/audit/measured.yaml)), YAML or JSON. It says what was
measured while the code ran, and on what; any of the facts below may stand in it, in any number:
```yaml
measured_on: node-17, 2 × H100, steps 200 to 1,400 of run 7f3a
facts:
  data_wait_ratio: 0.31
  gpu_busy_ratio: {value: 0.62, measured_on: one minute on GPU 0}
```
A fact *confirms* findings (a note becomes a warning, and surer), *lowers* them (a warning becomes a note, and less
sure) or *withdraws* them (they are listed apart, with the reason). Between its thresholds it says nothing. Facts that
contradict each other change no severity; both are told. Errors stay. Ratios lie between 0 and 1.
"""

GAINS = """\
## How gains are combined
Each rule names the kind of time that its change takes away, and how many times shorter its source saw that time, or
the whole step, become. A rule without such a figure has none in the table below, and does not count. Gains are not
multiplied: each kind of time has a share of the step and becomes at most so much shorter, the rest stays (Amdahl's
law); of changes that shorten the same time only the greatest counts. Shares are those that were measured; what is left
is shared out equally among the kinds that were not, and all else. Beside this stands the most that any shares would
give. Warnings and errors count; what the notes would add is told apart.
"""

LIMITS = """\
## How often it is right
A reader marked what is slow in files of public repositories and packages before the audit had seen them, and judged
each warning, there and on whole packages by experts. What was missed or wrong was then mended, so that only a first
look tells how the audit does on code that it does not know (22 to 25 November 2026; bounds at 95 %):

| code, in the order of the looks | first look: found | first look: right | since mended: found | right |
|---|---|---|---|---|
| 54 files, of which half were kept aside | 57 of 83, 69 % (58 to 78 %) | 27 of 29, 93 % | 132 of 138, 96 % | 71 of 71 |
| seven packages by experts | – | 8 of 15, 53 % | – | 197 of 202 in all 43 |
| sixteen more | – | 75 of 144, 52 % (44 to 60 %) | – | ″ |
| 13 files of seven well-known trainers | – | – | 19 of 24, 79 % | 24 of 24 |
| 13 files of seven others | 8 of 16, 50 % (28 to 72 %) | 6 of 6 | 8 of 16, 50 % | 6 of 6 |
| one more package | – | 56 of 76, 74 % (63 to 82 %) | – | ″ |
| **68 files, 39 places** | 190 of 249, 76 % (71 to 81 %) | 92 of 105, 88 % (80 to 93 %) | 198 of 249, 80 % | 89 of 91 |
| **15 more packages** | 41 of 48, 85 % (73 to 93 %) | 203 of 228, 89 % (84 to 93 %) | – | – |
| **eight more** | – | 88 of 109, 81 % (72 to 87 %) | – | 40 of 42; 56 of 61 |
| **137 new files** | 306 of 378, 81 % (77 to 85 %) | 185 of 202, 92 % (87 to 95 %) | 335 of 378, 89 % | 197 of 197 |
| **155 new files** | 330 of 447, 74 % (70 to 78 %) | 126 of 142, 89 % (83 to 93 %) | 388 of 447, 87 % | 140 of 140 |
| **15 packages after them** | – | 198 of 213, 93 % (89 to 96 %) | – | – |
| **120 files more** | 299 of 364, 82 % (78 to 86 %) | 152 of 165, 92 % (87 to 95 %) | 326 of 364, 90 % | 162 of 162 |
| **185 files more** | 336 of 421, 80 % (76 to 83 %) | 180 of 185, 97 % (94 to 99 %) | – | – |
| **82 around trainings** | 58 of 115, 50 % (41 to 59 %) | 31 of 32, 97 % (84 to 99 %) | 80 of 115, 70 % | – |
| **73 files after** | 141 of 189, 75 % (68 to 80 %) | 48 of 53, 91 % (80 to 96 %) | 162 of 189, 86 % | 63 of 63 |
| **75 files of other fields** | 121 of 164, 74 % (67 to 80 %) | 50 of 50 (93 to 100 %) | 140 of 164, 85 % | 51 of 51 |
| **84 files after them** | 215 of 293, 73 % (68 to 78 %) | 87 of 92, 95 % (88 to 98 %) | 248 of 293, 85 % | 88 of 89 |
| **78 files of packages** | 132 of 152, 87 % (80 to 91 %) | 47 of 47 (92 to 100 %) | 138 of 152, 91 % | 49 of 49 |
| **35 of repositories** | 95 of 128, 74 % (66 to 81 %) | 50 of 55, 91 % (80 to 96 %) | 113 of 128, 88 % | 50 of 51 |
| **35 of other repositories** | 75 of 90, 83 % (74 to 90 %) | 23 of 24, 96 % (80 to 99 %) | 87 of 90, 97 % | 27 of 27 |
| **210 told by threads** | 327 of 611, 54 % (50 to 57 %) | 119 of 121, 98 % (94 to 99 %) | 441 of 611, 72 % | all 120 |
| **111 told by threads** | 185 of 324, 57 % (52 to 62 %) | 41 of 43, 95 % (85 to 99 %) | 238 of 324, 73 % | 45 of 45 |
| **65 more after them** | 57 of 114, 50 % (41 to 59 %) | 15 of 17, 88 % (66 to 97 %) | 76 of 114, 67 % | 15 of 15 |
| **54 of language** | 106 of 186, 57 % (50 to 64 %) | 26 of 27, 96 % (82 to 99 %) | 168 of 186, 90 % | 26 of 27 |
| **37 of vision** | 101 of 139, 73 % (65 to 79 %) | 18 of 18 (82 to 100 %) | 107 of 139, 77 % | 18 of 18 |
| **42 of other fields** | 80 of 118, 68 % (59 to 76 %) | 28 of 31, 90 % (75 to 97 %) | – | 28 of 28 |
| 61 packages by experts, read again | – | – | – | 499 of 519, 96 % |

A fault counts as found by its rule within two lines; faults without a line of their own (no compilation, no mixed
precision, no clipping) were not marked. Of the eight more packages four were mended on (40 of 42), four were not (56
of 61). Before the looks in bold, warnings were made to need three things: a value that is seen to be a tensor on the
device, code that is seen to run in each step, and a wait that can be spared; where one of them is supposed, the finding
is a note that says so. So is a read by which the host steers (a loop's end, the loss that is taken, a size, the
optimizer's rate), one behind a switch that is off unless somebody asks for it, and one in code that makes its batches
on the host or names no device.

The looks differ in what they hold: at the 155 files nearly half of the faults were no reads of values (reads: 196 of
236 found; all other rules: 134 of 211), at the two looks after them a third and two fifths (213 of 249 and 86 of 115;
205 of 241 and 131 of 180). Nearly all of them are packages as published. Of the 253 faults of the look at 185 files
that a reviewer called warnings 188 were found, 106 of them as warnings: the one wait of a step, a loop in a file that
was not given, or a value of which nobody knows that it is a tensor, makes a note. What the authors themselves had
told or mended was found less often: 30 of 62.

The look around trainings was made of that alone, as far as it could be: 64 of its 115 faults are told by issues and
pull requests, and most of these lie around a training, not in its steps: requests of libraries that embed texts (12),
tables and lists that grow (14), rows written one by one (10), loaders (12). **25 of the 64 were found (39 %, 28 to 51
%)**, 33 of the other 51. The one wrong warning was of an evaluation whose model needs the history: it computes forces.

Of the look at 73 files more than half are single reads by the host, in vision, speech and language; of the 15 that the
authors told (6) or mended in a later version (9) 12 were found. Four of these were mended in part only: the later
version reads in the same place, and is told so. Four of its five wrong warnings stood in one file, behind a list of
the steps at which to validate; the fifth was a sum that begins anew for each batch.

The look at 75 files, at reinforcement learning, recommenders, graphs, federated and continual learning, was at
packages that wrap what trains in classes of their own, handed from file to file: what is called there is often not at
hand. Of the 7 faults that issues tell 6 were found; 47 of its warnings lay on what the reviewer had marked, the other
three were judged after they were seen (the second arm of a marked condition, one of several reads of a marked
statement, and `nn.DataParallel`).

The look at 84 files, at tables, time series, chemistry, biology and physics, marks all of its packages' like lines one
by one. 72 of its warnings lay on marks; 20 were judged after they were seen, 15 right: nine of these told an
evaluation's loop where the call in it, or that leads to it, was marked. Such marks count as missed.

The look at 78 files is at packages of many fields (language, speech, weather, graphs, reinforcement learning), the
first one at 35 files at research and tutorial code in repositories, whose training loops are written out. The score
of the 78 is the same with the code of two days before. Of the 17 faults that issues and pull requests tell 13 were
found, 4 of 4 and 9 of 13; the 9 that a later version had mended were gone there. 89 of 102 warnings lay on marks; of
the 13 others, judged after they were seen, 8 are right: five evaluations' loops whose call was marked, two reads for
each parameter beside a marked norm, the other arm of a marked condition. The five wrong ones: a file written once
that was told twice, since an engine is handed the step (two versions of one file), a wrapper that is taken off in the
next line, a number of PyTorch before 0.4, a read behind an option that is off. Four of the five are mended.

The second look at 35 files is at such code of 18 more owners: captions, retrieval, grasping, federated learning,
distillation, translation, speech. Half of its faults are reads by the host (47 of 90). Four of the fifteen that were
missed stood in one file that Python 3.11 does not parse (newer f-strings; it is read now), four in one method that
updates parameters by gradients that it asks for. 23 warnings lay on marks, one was judged after it was seen: a length
counted in a copy on the host, which is mended. Nine of the marks stand in one method.

The two looks at files that were chosen for what their projects' own issues, pull requests and changelogs tell are the
hardest: much of that stands in parts of libraries which no loop among the files runs (optimizers, losses, operations,
averages, buffers), or around trainings (questions to large models, rows, stores). Of the 192 faults that threads tell
in the first 66 were found (34 %, 28 to 41 %), of the 67 in the second 21 (31 %, 22 to 43 %); since mended 134 and 39.
What was mended on the first alone brought the second, without two cases known from it, from 59 to 65 %, and what its
threads tell from 32 to 44 %. Eight warnings lay on no mark; judged after they were seen, four are right, and four
were wrong: an enumeration called a loss, a checkpoint at ticks, a list's last part that is made longer. These are
mended. What was added for these looks is told as notes: such code is supposed to run in each step, and a note says
so. Of the 76 notes on waits that this brought in the older lists' files six lie on marks, of the 63 in the first
look's 46. Of what later versions had mended and was found 70 of 76 and 27 of 30 findings were gone there; the others
stayed.

The look at 65 files chosen in the same way after these mends tells how far they carry: 57 of its 114 faults
were found, 52 by the code before them, and of the 11 that threads tell three, as before. Most misses around trainings
are requests through wrappers whose names do not give them away. The two wrong warnings are on reads of tensors that a
condition on the device brings to the host just before. All 13 findings that a later version had mended were gone
there. So what stands under "since mended" is for code that was mended on.

The last three looks are at trainings, with the files that these plainly need. 41 of the 186 faults of language and
speech stand in one file of losses, alike; 3 of them were found at first. Of all others **284 of 402 were found at
first (71 %, 66 to 75 %), and 72 of 76 warnings were right (95 %, 87 to 98 %)**. Mends carry over little: what the look
before had brought found none more of language's faults, what language's had brought none more of vision's (101 before
and after), and both together three more of other fields' (77 and 80). What was mended on language's was seldom a rule
that lacked, mostly a condition in one: reads in evaluations that make texts (13 faults), losses that are objects (38).
The wrong warnings: a prediction whose parent, which is not at hand, may turn history off, and three in one file, a
budget that ends the loop, chance around what lies on the device, and a part's size. The last three are mended. Two
right ones lay where a loop over batches was marked, not the model's call in it, and one on a read of norms that was
marked as such. All 45 findings that a later version had mended were gone there.

All 45 findings of the looks at 185 and 82 files, and the 7 of the look at 73, whose fault a later version had mended
were gone there, and the 3 of the look at 84. Of 95 well-tuned scripts of eleven looks three had warnings, five in all,
two of which lay on what the reviewer had marked as notes; the 44 of the last seven looks had none. Warnings come in
clusters (one file, one habit), so the bounds are narrower than the truth. Expect one warning in twenty to be wrong on
code that nobody has mended on, more where a framework's training loop trains nothing; seven tenths to seven eighths
of what a reviewer would mark in training loops to be found, half of that in parts of libraries and around trainings,
and of what projects' own threads tell of these a third.

What is missed most: clients, connections and tables that come from a parent or a caller who is not at hand, reads in
metrics and in steps whose loop is elsewhere, attention in spellings of one's own, loaders that settings build. Which
files, lines and verdicts: `tests/benchmarks/audit_judged`; there `kept` is what nothing had been mended on at that
look.

## Limits
- Only Python is read. What a library does inside, what a configuration file sets, and code that is made while running
  are unknown to the audit.
- A tensor that comes from a function outside the audited files is not known to be on a device.
- How much a change gives depends on model, data and machine; printed gains come from elsewhere and are upper bounds.
- A wait that overlaps with nothing costs more than one that hides behind other work: only a measurement tells.
"""
