/* A stand-in for libnvidia-ml.so.1: the real interface with simulated GPUs.
 *
 * It plays the file `scenario` beside the library (docs/stand-in-gpu.md describes its syntax) and checks for a new
 * version of it at most once a millisecond. Structures and codes are those of NVIDIA's nvml.h, as in nvidia-ml-py.
 * It is one long file, so that a single compiler command can build it anywhere.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define MAX_GPUS 16
#define MAX_TERMS 4
#define MAX_FAULTS 64
#define MAX_EVENTS 256
#define MAX_PROCESSES 128
#define MAX_SLICES 56
#define MAX_FIELDS 512
#define LINK_COUNTERS 10000 /* the number of a field plus this: a counter of nvmlDeviceGetNvLinkErrorCounter */
#define TEXT 96
#define EXPORT __attribute__((visibility("default")))

enum {
    SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7,
    DRIVER_NOT_LOADED = 9, TIMEOUT = 10, GPU_IS_LOST = 15, VERSION_MISMATCH = 25
};
enum { TYPE_DOUBLE = 0, TYPE_UINT = 1, TYPE_ULONGLONG = 3, TYPE_INT = 5 };

/* ---- readings of a GPU: name in the scenario, NVML field id (0: none), type of the field ---- */

#define KEYS(K) \
    K(architecture, 0, 0) K(bar1_total, 0, 0) K(bar1_used, 0, 0) K(clock_memory, 0, 0) K(clock_memory_max, 0, 0) K(clock_sm, 0, 0) K(clock_sm_max, 0, 0) \
    K(compute_major, 0, 0) K(compute_minor, 0, 0) K(ecc_enabled, 1, 1) K(ecc_corrected, 3, 3) \
    K(ecc_uncorrected, 4, 3) K(ecc_corrected_lifetime, 5, 3) K(ecc_uncorrected_lifetime, 6, 3) K(energy, 83, 3) \
    K(engine_decoder, 0, 0) K(engine_encoder, 0, 0) K(engine_jpeg, 0, 0) K(engine_ofa, 0, 0) K(fabric_clique, 0, 0) \
    K(fabric_health, 0, 0) K(fabric_health_mask, 0, 0) K(fabric_old_driver, 0, 0) K(fabric_state, 0, 0) K(fabric_status, 0, 0) \
    K(fan, 0, 0) K(gpm_dram_active, 0, 0) K(gpm_pcie_receive, 0, 0) K(gpm_pcie_transmit, 0, 0) K(gpm_sm_active, 0, 0) K(gpm_sm_occupancy, 0, 0) \
    K(gpm_tensor_active, 0, 0) K(memory_reserved, 0, 0) K(memory_temperature, 82, 1) K(memory_total, 0, 0) \
    K(memory_used, 0, 0) K(mig_enabled, 0, 0) K(numa_node, 0, 0) K(nvlink_crc_data, 45, 3) \
    K(nvlink_crc_flit, 38, 3) K(nvlink_receive_kib, 139, 3) K(nvlink_recovery, 59, 3) K(nvlink_replay, 52, 3) \
    K(nvlink_transmit_kib, 138, 3) K(nvlinks, 91, 1) K(nvlinks_active, 0, 0) K(pcie_generation, 0, 0) \
    K(pcie_generation_max, 0, 0) K(pcie_receive, 198, 1) K(pcie_replays, 94, 1) K(pcie_transmit, 197, 1) \
    K(pcie_width, 0, 0) K(pcie_width_max, 0, 0) K(persistence, 0, 0) K(power, 186, 1) K(power_limit, 0, 0) K(pstate, 0, 0) \
    K(recovery_action, 230, 1) K(remapped_corrected, 142, 1) K(remapped_failed, 145, 1) K(remapped_pending, 144, 1) \
    K(remapped_uncorrected, 143, 1) K(retired_corrected, 29, 3) K(retired_pending, 31, 3) \
    K(retired_uncorrected, 30, 3) K(sram_corrected, 0, 0) K(sram_parity, 0, 0) K(sram_sec_ded, 0, 0) \
    K(sram_threshold, 0, 0) K(temperature, 0, 0) K(temperature_margin, 0, 0) K(temperature_memory_max, 0, 0) \
    K(temperature_operating_max, 0, 0) K(temperature_shutdown, 0, 0) \
    K(temperature_slowdown, 0, 0) K(throttle_board_limit, 77, 3) K(throttle_hw_power_brake, 271, 3) \
    K(throttle_hw_thermal, 270, 3) K(throttle_reasons, 0, 0) K(throttle_reliability, 79, 3) \
    K(throttle_sw_power_cap, 74, 3) K(throttle_sw_thermal, 269, 3) K(throttle_sync_boost, 76, 3) K(throttle_thermal, 75, 3) \
    K(utilization_gpu, 0, 0) K(utilization_memory, 0, 0)

#define AS_ENUM(name, field, type) K_##name,
#define AS_ROW(name, field, type) {#name, field, type},
enum { KEYS(AS_ENUM) KEY_COUNT };
static const struct { const char *name; unsigned field, type; } KEY[] = {KEYS(AS_ROW)};

/* ---- the scenario ---- */

enum wave { CONSTANT, RAMP, SAW, SQUARE, SINE, NOISE, COUNT, WAVES };
static const struct { const char *name; int arguments; } WAVE[WAVES] = {
    {"constant", 1}, {"ramp", 4}, {"saw", 3}, {"square", 4}, {"sine", 3}, {"noise", 2}, {"count", 1}};

struct term { enum wave wave; double a[4]; };
struct value { int terms; struct term term[MAX_TERMS]; };
struct span { double from, until; };
enum fault_kind { FAULT_ERROR, FAULT_HANG, FAULT_LOST, FAULT_DRIVER };
struct fault { enum fault_kind kind; int gpu; char call[64]; double amount; struct span span; };
struct event { unsigned long id; int gpu; unsigned long long type, data; double at; };
struct process { int gpu, kind, slice; unsigned pid, utilization; struct value memory; };
enum activity { SM_ACTIVE, SM_OCCUPANCY, TENSOR_ACTIVE, DRAM_ACTIVE, ACTIVITIES };
static const char *const ACTIVITY[ACTIVITIES] = {"sm_active", "sm_occupancy", "tensor_active", "dram_active"};
struct slice { int gpu, index; char uuid[TEXT], profile[TEXT]; double total; struct value used, activity[ACTIVITIES]; };
enum text { NAME, UUID, PCI, VBIOS, SERIAL, BOARD_PART, INFOROM, CLUSTER, TEXTS };
static const char *const TEXT_KEY[TEXTS] = {"name", "uuid", "pci", "vbios", "serial", "board_part", "inforom", "cluster"};
struct gpu { char text[TEXTS][TEXT]; struct value value[KEY_COUNT]; };
struct extra { int gpu; unsigned id, low, high, type; struct value value; }; /* a field by its number, for some scopes */

struct scenario {
    int gpus, frozen;
    char driver[TEXT];
    double start, now;
    struct gpu gpu[MAX_GPUS];
    int faults, events, processes, slices, extras;
    struct extra extra[MAX_FIELDS];
    struct fault fault[MAX_FAULTS];
    struct event event[MAX_EVENTS];
    struct process process[MAX_PROCESSES];
    struct slice slice[MAX_SLICES];
};

typedef struct device { int gpu, slice; } *device_t; /* slice -1: the whole GPU */
typedef struct event_set { double since; unsigned long delivered; unsigned gpus; } *event_set_t;
typedef struct sample { int gpu, slice; double at; } *sample_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct scenario *playing;
static struct timespec seen_mtime;
static ino_t seen_inode;
static off_t seen_size;
static double last_check = -1, loaded = -1;
static int sessions, stale;
static struct device gpu_device[MAX_GPUS], slice_device[MAX_SLICES];

static double clock_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static double scenario_time(void) {
    if (playing->frozen) return playing->now;
    return clock_seconds() - (playing->start ? playing->start : loaded);
}

static double noise(unsigned seed, double t) {
    unsigned long long x = (unsigned long long)(t * 10) * 0x9E3779B97F4A7C15ull + seed * 0xBF58476D1CE4E5B9ull;
    x ^= x >> 31, x *= 0x94D049BB133111EBull, x ^= x >> 29, x *= 0xBF58476D1CE4E5B9ull, x ^= x >> 32;
    return (x >> 11) / 4503599627370496.0 - 1; /* -1 … 1 */
}

static double play_term(const struct term *term, unsigned seed, double t) {
    const double *a = term->a;
    double phase;
    switch (term->wave) {
        case RAMP: return t <= a[2] ? a[0] : t >= a[3] ? a[1] : a[0] + (a[1] - a[0]) * (t - a[2]) / (a[3] - a[2]);
        case SAW: return a[0] + (a[1] - a[0]) * (t / a[2] - floor(t / a[2]));
        case SQUARE: phase = t / a[2] - floor(t / a[2]); return phase < a[3] ? a[1] : a[0];
        case SINE: return a[0] + a[1] * sin(t / a[2] * 2 * M_PI);
        case NOISE: return a[0] + a[1] * noise(seed, t);
        case COUNT: return a[0] * t;
        default: return a[0];
    }
}

static double play_signed(const struct value *value, unsigned seed) {
    double sum = 0, t = scenario_time();
    for (int i = 0; i < value->terms; i++) sum += play_term(&value->term[i], seed + i, t);
    return sum;
}

static double play(const struct value *value, unsigned seed) {
    double sum = play_signed(value, seed);
    return sum > 0 ? sum : 0;
}

/* ---- reading the scenario ---- */

static void parse_value(char *words, struct value *value) {
    char *word, *rest = words;
    value->terms = 0;
    while ((word = strtok_r(NULL, " ", &rest)) && value->terms < MAX_TERMS) {
        if (!strcmp(word, "none")) return;
        if (!strcmp(word, "+")) continue;
        struct term *term = &value->term[value->terms];
        int wave = 0;
        while (wave < WAVES && strcmp(word, WAVE[wave].name)) wave++;
        memset(term, 0, sizeof *term);
        if (wave == WAVES) {
            term->a[0] = atof(word); /* a bare number */
        } else {
            term->wave = wave;
            for (int i = 0; i < WAVE[wave].arguments && (word = strtok_r(NULL, " ", &rest)); i++) term->a[i] = atof(word);
        }
        value->terms++;
    }
}

static int parse_target(const char *word) { return !word || *word == '*' ? -1 : atoi(word); }

static void parse_gpu(struct scenario *s, char *rest) {
    char *target = strtok_r(NULL, " ", &rest), *key = strtok_r(NULL, " ", &rest);
    if (!target || !key) return;
    for (int i = 0; i < MAX_GPUS; i++) {
        if (parse_target(target) >= 0 && parse_target(target) != i) continue;
        for (int t = 0; t < TEXTS; t++) if (!strcmp(key, TEXT_KEY[t])) snprintf(s->gpu[i].text[t], TEXT, "%s", rest);
        for (int k = 0; k < KEY_COUNT; k++) if (!strcmp(key, KEY[k].name)) {
            char copy[512];
            snprintf(copy, sizeof copy, "%s", rest);
            parse_value(copy, &s->gpu[i].value[k]);
        }
    }
}

static void parse_fault(struct scenario *s, enum fault_kind kind, char *rest) {
    if (s->faults == MAX_FAULTS) return;
    struct fault *fault = &s->fault[s->faults++];
    char *word;
    memset(fault, 0, sizeof *fault);
    fault->kind = kind, fault->span.until = INFINITY;
    fault->gpu = parse_target(kind == FAULT_DRIVER ? "*" : strtok_r(NULL, " ", &rest));
    if (kind == FAULT_ERROR || kind == FAULT_HANG) {
        if ((word = strtok_r(NULL, " ", &rest))) snprintf(fault->call, sizeof fault->call, "%s", word);
        if ((word = strtok_r(NULL, " ", &rest))) fault->amount = atof(word);
    }
    if ((word = strtok_r(NULL, " ", &rest))) fault->span.from = atof(word);
    if ((word = strtok_r(NULL, " ", &rest))) fault->span.until = atof(word);
}

static void parse_process(struct scenario *s, char *rest) { /* process GPU KIND PID UTILIZATION MEMORY */
    char *word[4];
    for (int i = 0; i < 4; i++) if (!(word[i] = strtok_r(NULL, " ", &rest))) return;
    if (s->processes == MAX_PROCESSES) return;
    struct process *process = &s->process[s->processes++];
    process->gpu = parse_target(word[0]);
    process->kind = word[1][0];
    process->slice = -1;
    process->pid = strtoul(word[2], NULL, 10);
    process->utilization = strtoul(word[3], NULL, 10);
    parse_value(rest, &process->memory);
}

static void parse_slice(struct scenario *s, char *rest) { /* mig GPU INDEX UUID PROFILE TOTAL USED */
    char *word[5];
    for (int i = 0; i < 5; i++) if (!(word[i] = strtok_r(NULL, " ", &rest))) return;
    if (s->slices == MAX_SLICES) return;
    struct slice *slice = &s->slice[s->slices++];
    slice->gpu = parse_target(word[0]);
    slice->index = atoi(word[1]);
    snprintf(slice->uuid, TEXT, "%s", word[2]);
    snprintf(slice->profile, TEXT, "%s", word[3]);
    slice->total = atof(word[4]);
    parse_value(rest, &slice->used);
}

static struct slice *find_slice(struct scenario *s, const char *gpu, const char *index) {
    for (int i = 0; i < s->slices; i++)
        if (s->slice[i].gpu == atoi(gpu) && s->slice[i].index == atoi(index)) return &s->slice[i];
    return NULL;
}

static void parse_slice_activity(struct scenario *s, char *rest) { /* mig_activity GPU INDEX KEY VALUE */
    char *word[3];
    for (int i = 0; i < 3; i++) if (!(word[i] = strtok_r(NULL, " ", &rest))) return;
    struct slice *slice = find_slice(s, word[0], word[1]);
    for (int i = 0; slice && i < ACTIVITIES; i++) if (!strcmp(word[2], ACTIVITY[i])) {
        parse_value(rest, &slice->activity[i]);
        return;
    }
}

static void parse_slice_process(struct scenario *s, char *rest) { /* mig_process GPU INDEX PID MEMORY */
    char *word[3];
    for (int i = 0; i < 3; i++) if (!(word[i] = strtok_r(NULL, " ", &rest))) return;
    if (s->processes == MAX_PROCESSES) return;
    struct process *process = &s->process[s->processes++];
    process->gpu = atoi(word[0]), process->slice = atoi(word[1]), process->kind = 'c';
    process->pid = strtoul(word[2], NULL, 10);
    parse_value(rest, &process->memory);
}

static void parse_field(struct scenario *s, char *rest) { /* field GPU ID[/SCOPE[-SCOPE]] TYPE VALUE */
    static const struct { const char *name; unsigned type; } type[] = {
        {"double", TYPE_DOUBLE}, {"uint", TYPE_UINT}, {"ulonglong", TYPE_ULONGLONG}, {"int", TYPE_INT}};
    char *word[3], *slash;
    for (int i = 0; i < 3; i++) if (!(word[i] = strtok_r(NULL, " ", &rest))) return;
    if (s->extras == MAX_FIELDS) return;
    struct extra *extra = &s->extra[s->extras++];
    extra->gpu = parse_target(word[0]);
    extra->id = strtoul(word[1], &slash, 10);
    if (*slash == '/') extra->low = extra->high = strtoul(slash + 1, &slash, 10);
    if (*slash == '-') extra->high = strtoul(slash + 1, NULL, 10);
    for (unsigned i = 0; i < sizeof type / sizeof *type; i++) if (!strcmp(word[2], type[i].name)) extra->type = type[i].type;
    parse_value(rest, &extra->value);
}

static void parse_line(struct scenario *s, char *line) {
    char *rest = line, *word = strtok_r(NULL, " ", &rest);
    struct event event = {.type = 8}; /* nvmlEventTypeXidCriticalError */
    if (!word || *word == '#') return;
    if (!strcmp(word, "gpus")) s->gpus = atoi(rest) < MAX_GPUS ? atoi(rest) : MAX_GPUS;
    else if (!strcmp(word, "driver")) snprintf(s->driver, TEXT, "%s", rest);
    else if (!strcmp(word, "start")) s->start = atof(rest);
    else if (!strcmp(word, "now")) s->now = atof(rest), s->frozen = 1;
    else if (!strcmp(word, "gpu")) parse_gpu(s, rest);
    else if (!strcmp(word, "error")) parse_fault(s, FAULT_ERROR, rest);
    else if (!strcmp(word, "hang")) parse_fault(s, FAULT_HANG, rest);
    else if (!strcmp(word, "lost")) parse_fault(s, FAULT_LOST, rest);
    else if (!strcmp(word, "driver_missing")) parse_fault(s, FAULT_DRIVER, rest);
    else if (!strcmp(word, "process")) parse_process(s, rest);
    else if (!strcmp(word, "mig")) parse_slice(s, rest);
    else if (!strcmp(word, "mig_activity")) parse_slice_activity(s, rest);
    else if (!strcmp(word, "mig_process")) parse_slice_process(s, rest);
    else if (!strcmp(word, "field")) parse_field(s, rest);
    else if (!strcmp(word, "xid") && s->events < MAX_EVENTS &&
             sscanf(rest, "%lu %d %llu %lf", &event.id, &event.gpu, &event.data, &event.at) == 4)
        s->event[s->events++] = event;
}

static void read_scenario(const char *path) {
    struct scenario *fresh = calloc(1, sizeof *fresh);
    FILE *file = fopen(path, "r");
    char line[1024];
    if (!fresh || !file) {
        free(fresh);
        if (file) fclose(file);
        return;
    }
    snprintf(fresh->driver, TEXT, "stand-in");
    for (int i = 0; i < MAX_GPUS; i++) {
        snprintf(fresh->gpu[i].text[NAME], TEXT, "Stand-in GPU");
        snprintf(fresh->gpu[i].text[UUID], TEXT, "GPU-00000000-0000-4000-8000-%012d", i);
        snprintf(fresh->gpu[i].text[PCI], TEXT, "00000000:%02X:00.0", 0x10 + i);
    }
    while (fgets(line, sizeof line, file)) line[strcspn(line, "\r\n")] = 0, parse_line(fresh, line);
    fclose(file);
    free(playing);
    playing = fresh;
}

static void refresh(void) { /* with the lock held */
    static char path[4096];
    struct stat seen;
    double now = clock_seconds();
    if (now - last_check < 0.001) return;
    last_check = now;
    if (!*path) {
        Dl_info own;
        if (!dladdr((void *)refresh, &own)) return;
        snprintf(path, sizeof path - 16, "%s", own.dli_fname);
        char *slash = strrchr(path, '/');
        strcpy(slash ? slash + 1 : path, "scenario");
    }
    if (stat(path, &seen)) return;
    if (playing && seen.st_ino == seen_inode && seen.st_size == seen_size && seen.st_mtim.tv_sec == seen_mtime.tv_sec &&
        seen.st_mtim.tv_nsec == seen_mtime.tv_nsec) return;
    if (loaded < 0) loaded = now;
    seen_inode = seen.st_ino, seen_size = seen.st_size, seen_mtime = seen.st_mtim;
    read_scenario(path);
}

/* ---- common part of all calls ---- */

static const struct fault *find_fault(enum fault_kind kind, int gpu, const char *call) {
    double t = scenario_time();
    for (int i = 0; i < playing->faults; i++) {
        const struct fault *fault = &playing->fault[i];
        if (fault->kind != kind || t < fault->span.from || t >= fault->span.until) continue;
        if (fault->gpu >= 0 && fault->gpu != gpu) continue;
        if (*fault->call && strcmp(fault->call, call)) continue;
        return fault;
    }
    return NULL;
}

static void hang(int gpu, const char *call) { /* releases the lock while waiting; returns early when the fault ends */
    double began = clock_seconds();
    const struct fault *fault;
    while ((fault = find_fault(FAULT_HANG, gpu, call)) && clock_seconds() - began < fault->amount) {
        struct timespec slice = {0, 5000000};
        pthread_mutex_unlock(&lock);
        nanosleep(&slice, NULL);
        pthread_mutex_lock(&lock);
        refresh();
    }
}

static int enter(const char *call, int gpu, int needs_session) { /* takes the lock; the caller releases it */
    const struct fault *fault;
    pthread_mutex_lock(&lock);
    refresh();
    if (!playing) return DRIVER_NOT_LOADED;
    hang(gpu, call);
    if (find_fault(FAULT_DRIVER, gpu, call)) {
        stale = sessions > 0;
        return DRIVER_NOT_LOADED;
    }
    if (needs_session && (!sessions || stale)) return UNINITIALIZED;
    if (gpu >= playing->gpus) return INVALID_ARGUMENT;
    if (gpu >= 0 && find_fault(FAULT_LOST, gpu, call)) return GPU_IS_LOST;
    if ((fault = find_fault(FAULT_ERROR, gpu, call))) return (int)fault->amount;
    return SUCCESS;
}

static int leave(int code) {
    pthread_mutex_unlock(&lock);
    return code;
}

#define ENTER(device) \
    do { \
        int code_ = enter(__func__, (device) ? (device)->gpu : MAX_GPUS, 1); \
        if (code_) return leave(code_); \
    } while (0)
#define ENTER_SYSTEM() \
    do { \
        int code_ = enter(__func__, -1, 1); \
        if (code_) return leave(code_); \
    } while (0)

static int has_value(device_t device, int key) { return playing->gpu[device->gpu].value[key].terms > 0; }
static double value_now(device_t device, int key) {
    return play(&playing->gpu[device->gpu].value[key], device->gpu * 997 + key * 7);
}

static int return_number(device_t device, int key, unsigned *out) { /* releases the lock */
    if (device->slice >= 0 || !has_value(device, key)) return leave(NOT_SUPPORTED);
    *out = (unsigned)(value_now(device, key) + 0.5);
    return leave(SUCCESS);
}

static int return_text(const char *text, char *out, unsigned length) {
    if (strlen(text) + 1 > length) return leave(INSUFFICIENT_SIZE);
    strcpy(out, text);
    return leave(SUCCESS);
}

#define NUMBER(function, key) \
    EXPORT int function(device_t device, unsigned *out) { ENTER(device); return return_number(device, key, out); }

/* ---- library ---- */

static int initialise(const char *call) {
    int code = enter(call, -1, 0);
    if (code) return leave(code);
    if (stale) sessions = 0, stale = 0;
    sessions++;
    for (int i = 0; i < MAX_GPUS; i++) gpu_device[i].gpu = i, gpu_device[i].slice = -1;
    return leave(SUCCESS);
}

EXPORT int nvmlInit_v2(void) { return initialise(__func__); }
EXPORT int nvmlInitWithFlags(unsigned flags) { (void)flags; return initialise(__func__); }
EXPORT int nvmlShutdown(void) {
    pthread_mutex_lock(&lock);
    if (!sessions) return leave(UNINITIALIZED);
    if (!--sessions) stale = 0;
    return leave(SUCCESS);
}
EXPORT const char *nvmlErrorString(int code) {
    switch (code) {
        case SUCCESS: return "Success";
        case UNINITIALIZED: return "Uninitialized";
        case NOT_SUPPORTED: return "Not Supported";
        case DRIVER_NOT_LOADED: return "Driver Not Loaded";
        case GPU_IS_LOST: return "GPU is lost";
        default: return "Unknown Error";
    }
}
EXPORT int nvmlSystemGetDriverVersion(char *out, unsigned length) { ENTER_SYSTEM(); return return_text(playing->driver, out, length); }
EXPORT int nvmlSystemGetNVMLVersion(char *out, unsigned length) { ENTER_SYSTEM(); return return_text("13.stand-in", out, length); }
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *out) { ENTER_SYSTEM(); *out = 13000; return leave(SUCCESS); }

/* ---- devices ---- */

EXPORT int nvmlDeviceGetCount_v2(unsigned *out) { ENTER_SYSTEM(); *out = playing->gpus; return leave(SUCCESS); }
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, device_t *out) {
    int code = enter(__func__, index < MAX_GPUS ? (int)index : MAX_GPUS, 1);
    if (!code) *out = &gpu_device[index];
    return leave(code);
}
EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, device_t *out) {
    ENTER_SYSTEM();
    for (int i = 0; i < playing->gpus; i++) {
        if (strcmp(uuid, playing->gpu[i].text[UUID])) continue;
        if (find_fault(FAULT_LOST, i, __func__)) return leave(GPU_IS_LOST);
        *out = &gpu_device[i];
        return leave(SUCCESS);
    }
    return leave(NOT_FOUND);
}
EXPORT int nvmlDeviceGetIndex(device_t device, unsigned *out) { ENTER(device); *out = device->gpu; return leave(SUCCESS); }
EXPORT int nvmlDeviceGetMinorNumber(device_t device, unsigned *out) { ENTER(device); *out = device->gpu; return leave(SUCCESS); }
EXPORT int nvmlDeviceGetName(device_t device, char *out, unsigned length) {
    char text[2 * TEXT + 8];
    ENTER(device);
    if (device->slice < 0) return return_text(playing->gpu[device->gpu].text[NAME], out, length);
    snprintf(text, sizeof text, "%s MIG %s", playing->gpu[device->gpu].text[NAME], playing->slice[device->slice].profile);
    return return_text(text, out, length);
}
EXPORT int nvmlDeviceGetUUID(device_t device, char *out, unsigned length) {
    ENTER(device);
    return return_text(device->slice < 0 ? playing->gpu[device->gpu].text[UUID] : playing->slice[device->slice].uuid, out, length);
}
EXPORT int nvmlDeviceGetPciInfo_v3(device_t device, void *out) {
    struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } *pci = out;
    ENTER(device);
    memset(pci, 0, sizeof *pci);
    snprintf(pci->bus_id, sizeof pci->bus_id, "%.31s", playing->gpu[device->gpu].text[PCI]);
    sscanf(pci->bus_id, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device);
    snprintf(pci->legacy, sizeof pci->legacy, "%04X:%02X:%02X.0", pci->domain & 0xffff, pci->bus & 0xff, pci->device & 0xff);
    return leave(SUCCESS);
}
EXPORT int nvmlDeviceGetCudaComputeCapability(device_t device, int *major, int *minor) {
    ENTER(device);
    if (!has_value(device, K_compute_major)) return leave(NOT_SUPPORTED);
    *major = (int)value_now(device, K_compute_major), *minor = (int)value_now(device, K_compute_minor);
    return leave(SUCCESS);
}
static int describe(device_t device, enum text which, char *out, unsigned length) {
    const char *text = playing->gpu[device->gpu].text[which];
    return *text ? return_text(text, out, length) : leave(NOT_SUPPORTED);
}
EXPORT int nvmlDeviceGetVbiosVersion(device_t device, char *out, unsigned length) { ENTER(device); return describe(device, VBIOS, out, length); }
EXPORT int nvmlDeviceGetSerial(device_t device, char *out, unsigned length) { ENTER(device); return describe(device, SERIAL, out, length); }
EXPORT int nvmlDeviceGetBoardPartNumber(device_t device, char *out, unsigned length) { ENTER(device); return describe(device, BOARD_PART, out, length); }
EXPORT int nvmlDeviceGetInforomImageVersion(device_t device, char *out, unsigned length) { ENTER(device); return describe(device, INFOROM, out, length); }
NUMBER(nvmlDeviceGetPersistenceMode, K_persistence)
NUMBER(nvmlDeviceGetArchitecture, K_architecture)
NUMBER(nvmlDeviceGetNumaNodeId, K_numa_node)

/* ---- readings ---- */

EXPORT int nvmlDeviceGetUtilizationRates(device_t device, unsigned out[2]) {
    ENTER(device);
    if (device->slice >= 0 || !has_value(device, K_utilization_gpu)) return leave(NOT_SUPPORTED);
    out[0] = (unsigned)(fmin(100, value_now(device, K_utilization_gpu)) + 0.5);
    out[1] = (unsigned)(fmin(100, value_now(device, K_utilization_memory)) + 0.5);
    return leave(SUCCESS);
}
static void memory(device_t device, unsigned long long *total, unsigned long long *reserved, unsigned long long *used) {
    const struct slice *slice = device->slice < 0 ? NULL : &playing->slice[device->slice];
    *total = slice ? slice->total : value_now(device, K_memory_total);
    *reserved = slice ? 0 : value_now(device, K_memory_reserved);
    *used = slice ? play(&slice->used, device->slice) : value_now(device, K_memory_used);
    if (*used + *reserved > *total) *used = *total - *reserved;
}
EXPORT int nvmlDeviceGetMemoryInfo(device_t device, unsigned long long out[3]) {
    unsigned long long reserved;
    ENTER(device);
    if (!has_value(device, K_memory_total)) return leave(NOT_SUPPORTED);
    memory(device, &out[0], &reserved, &out[2]);
    out[2] += reserved, out[1] = out[0] - out[2];
    return leave(SUCCESS);
}
EXPORT int nvmlDeviceGetMemoryInfo_v2(device_t device, void *out) {
    struct { unsigned version; unsigned long long total, reserved, free, used; } *info = out;
    ENTER(device);
    if (info->version != 0x02000028) return leave(VERSION_MISMATCH);
    if (!has_value(device, K_memory_total)) return leave(NOT_SUPPORTED);
    memory(device, &info->total, &info->reserved, &info->used);
    info->free = info->total - info->used - info->reserved;
    return leave(SUCCESS);
}
NUMBER(nvmlDeviceGetPowerUsage, K_power)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, K_power_limit)
NUMBER(nvmlDeviceGetPowerManagementLimit, K_power_limit)
EXPORT int nvmlDeviceGetTotalEnergyConsumption(device_t device, unsigned long long *out) {
    ENTER(device);
    if (!has_value(device, K_energy)) return leave(NOT_SUPPORTED);
    *out = value_now(device, K_energy);
    return leave(SUCCESS);
}
static int clock_key(unsigned kind, int sm, int mem) { return kind <= 1 ? sm : kind == 2 ? mem : -1; }
EXPORT int nvmlDeviceGetClockInfo(device_t device, unsigned kind, unsigned *out) {
    int key = clock_key(kind, K_clock_sm, K_clock_memory);
    ENTER(device);
    return key < 0 ? leave(NOT_SUPPORTED) : return_number(device, key, out);
}
EXPORT int nvmlDeviceGetMaxClockInfo(device_t device, unsigned kind, unsigned *out) {
    int key = clock_key(kind, K_clock_sm_max, K_clock_memory_max);
    ENTER(device);
    return key < 0 ? leave(NOT_SUPPORTED) : return_number(device, key, out);
}
EXPORT int nvmlDeviceGetTemperature(device_t device, unsigned sensor, unsigned *out) {
    ENTER(device);
    return sensor ? leave(INVALID_ARGUMENT) : return_number(device, K_temperature, out);
}
EXPORT int nvmlDeviceGetTemperatureV(device_t device, unsigned out[3]) {
    ENTER(device);
    if (out[0] != 0x100000C) return leave(VERSION_MISMATCH);
    return out[1] ? leave(INVALID_ARGUMENT) : return_number(device, K_temperature, &out[2]);
}
EXPORT int nvmlDeviceGetTemperatureThreshold(device_t device, unsigned kind, unsigned *out) {
    ENTER(device);
    static const int limit[] = {K_temperature_shutdown, K_temperature_slowdown, K_temperature_memory_max, K_temperature_operating_max};
    return kind < 4 ? return_number(device, limit[kind], out) : leave(NOT_SUPPORTED);
}
EXPORT int nvmlDeviceGetMarginTemperature(device_t device, unsigned out[2]) {
    ENTER(device);
    return out[0] != 0x1000008 ? leave(VERSION_MISMATCH) : return_number(device, K_temperature_margin, &out[1]);
}
NUMBER(nvmlDeviceGetFanSpeed, K_fan)
NUMBER(nvmlDeviceGetPerformanceState, K_pstate)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, K_pcie_generation)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, K_pcie_width)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, K_pcie_generation_max)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, K_pcie_width_max)
NUMBER(nvmlDeviceGetPcieReplayCounter, K_pcie_replays)

static int reasons(device_t device, unsigned long long *out) {
    if (!has_value(device, K_throttle_reasons)) return leave(NOT_SUPPORTED);
    *out = value_now(device, K_throttle_reasons);
    return leave(SUCCESS);
}
EXPORT int nvmlDeviceGetCurrentClocksEventReasons(device_t device, unsigned long long *out) { ENTER(device); return reasons(device, out); }
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(device_t device, unsigned long long *out) { ENTER(device); return reasons(device, out); }
EXPORT int nvmlDeviceGetNvLinkState(device_t device, unsigned link, unsigned *out) {
    ENTER(device);
    if (!has_value(device, K_nvlinks) || link >= value_now(device, K_nvlinks)) return leave(NOT_SUPPORTED);
    *out = link < value_now(device, K_nvlinks_active);
    return leave(SUCCESS);
}
EXPORT int nvmlDeviceGetRemappedRows(device_t device, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
    ENTER(device);
    if (!has_value(device, K_remapped_corrected)) return leave(NOT_SUPPORTED);
    *corrected = value_now(device, K_remapped_corrected), *uncorrected = value_now(device, K_remapped_uncorrected);
    *pending = value_now(device, K_remapped_pending) > 0, *failed = value_now(device, K_remapped_failed) > 0;
    return leave(SUCCESS);
}

static int engine(device_t device, int key, unsigned *out, unsigned *period_us) {
    *period_us = 100000; /* as on an H100 */
    return return_number(device, key, out);
}
EXPORT int nvmlDeviceGetEncoderUtilization(device_t device, unsigned *out, unsigned *us) { ENTER(device); return engine(device, K_engine_encoder, out, us); }
EXPORT int nvmlDeviceGetDecoderUtilization(device_t device, unsigned *out, unsigned *us) { ENTER(device); return engine(device, K_engine_decoder, out, us); }
EXPORT int nvmlDeviceGetJpgUtilization(device_t device, unsigned *out, unsigned *us) { ENTER(device); return engine(device, K_engine_jpeg, out, us); }
EXPORT int nvmlDeviceGetOfaUtilization(device_t device, unsigned *out, unsigned *us) { ENTER(device); return engine(device, K_engine_ofa, out, us); }
EXPORT int nvmlDeviceGetBAR1MemoryInfo(device_t device, unsigned long long out[3]) {
    ENTER(device);
    if (!has_value(device, K_bar1_total)) return leave(NOT_SUPPORTED);
    out[0] = value_now(device, K_bar1_total), out[2] = value_now(device, K_bar1_used), out[1] = out[0] - out[2];
    return leave(SUCCESS);
}
EXPORT int nvmlDeviceGetSramEccErrorStatus(device_t device, void *out) {
    struct { unsigned version; unsigned long long parity, sec_ded, corrected, since_load[3], source[5]; unsigned exceeded; } *status = out;
    ENTER(device);
    if (status->version != 0x1000068) return leave(VERSION_MISMATCH);
    if (!has_value(device, K_sram_corrected)) return leave(NOT_SUPPORTED);
    memset(&status->parity, 0, sizeof *status - ((char *)&status->parity - (char *)status));
    status->parity = value_now(device, K_sram_parity), status->sec_ded = value_now(device, K_sram_sec_ded);
    status->corrected = value_now(device, K_sram_corrected), status->exceeded = value_now(device, K_sram_threshold) > 0;
    return leave(SUCCESS);
}
EXPORT int nvmlDeviceGetGpuFabricInfoV(device_t device, void *out) {
    struct { unsigned version; unsigned char cluster[16]; unsigned status, clique; unsigned char state; unsigned mask; unsigned char health; } *info = out;
    ENTER(device);
    if (info->version != 0x2000024 && (info->version != 0x3000028 || has_value(device, K_fabric_old_driver))) return leave(VERSION_MISMATCH);
    if (!has_value(device, K_fabric_state)) return leave(NOT_SUPPORTED);
    const char *digit = playing->gpu[device->gpu].text[CLUSTER];
    for (int i = 0; i < 16; i++) {
        while (*digit == '-') digit++;
        if (sscanf(digit, "%2hhx", &info->cluster[i]) != 1) info->cluster[i] = 0;
        digit += *digit ? 2 : 0;
    }
    info->status = value_now(device, K_fabric_status), info->clique = value_now(device, K_fabric_clique);
    info->state = value_now(device, K_fabric_state), info->mask = value_now(device, K_fabric_health_mask);
    if (info->version == 0x3000028) info->health = value_now(device, K_fabric_health);
    return leave(SUCCESS);
}

static const struct extra *find_extra(int gpu, unsigned id, unsigned scope) { /* the last line counts */
    for (int i = playing->extras; i--;) {
        const struct extra *extra = &playing->extra[i];
        if (extra->id != id || scope < extra->low || scope > extra->high) continue;
        if (extra->gpu < 0 || extra->gpu == gpu) return extra;
    }
    return NULL;
}
EXPORT int nvmlDeviceGetNvLinkErrorCounter(device_t device, unsigned link, unsigned counter, unsigned long long *out) {
    ENTER(device);
    if (!has_value(device, K_nvlinks)) return leave(NOT_SUPPORTED);
    if (link >= value_now(device, K_nvlinks)) return leave(INVALID_ARGUMENT);
    const struct extra *extra = find_extra(device->gpu, LINK_COUNTERS + counter, link);
    if (!extra || !extra->value.terms) return leave(NOT_SUPPORTED);
    *out = play(&extra->value, link);
    return leave(SUCCESS);
}

struct field {
    unsigned id, scope;
    long long timestamp, latency;
    unsigned type, code;
    union { unsigned number; int signed_number; unsigned long long large; double real; } value;
};
static void set_field(struct field *field, unsigned type, double value) {
    field->code = SUCCESS, field->type = type, field->value.large = 0;
    if (type == TYPE_UINT) field->value.number = (unsigned)(unsigned long long)value; /* wraps like the driver's */
    else if (type == TYPE_INT) field->value.signed_number = (int)value;
    else if (type == TYPE_DOUBLE) field->value.real = value;
    else field->value.large = value;
}
static const struct fault *find_field_fault(int gpu, unsigned id) { /* `error N field_82 CODE`: one field only */
    char name[32];
    snprintf(name, sizeof name, "field_%u", id);
    return find_fault(FAULT_ERROR, gpu, name);
}
EXPORT int nvmlDeviceGetFieldValues(device_t device, int count, struct field *fields) {
    ENTER(device);
    for (int i = 0; i < count; i++) {
        int key = 0;
        const struct fault *fault = playing->faults ? find_field_fault(device->gpu, fields[i].id) : NULL;
        fields[i].code = fault ? (unsigned)fault->amount : NOT_SUPPORTED, fields[i].latency = 0;
        fields[i].timestamp = (long long)(scenario_time() * 1e6);
        const struct extra *extra = playing->extras ? find_extra(device->gpu, fields[i].id, fields[i].scope) : NULL;
        if (extra) {
            if (!fault && extra->value.terms) set_field(&fields[i], extra->type, play_signed(&extra->value, fields[i].id));
            continue;
        }
        while (key < KEY_COUNT && (!KEY[key].field || KEY[key].field != fields[i].id)) key++;
        if (fault || key == KEY_COUNT || !has_value(device, key)) continue;
        if (key == K_power && fields[i].scope) continue; /* other scopes are parts of the board */
        set_field(&fields[i], KEY[key].type, value_now(device, key));
    }
    return leave(SUCCESS);
}

/* ---- MIG ---- */

EXPORT int nvmlDeviceGetMigMode(device_t device, unsigned *current, unsigned *pending) {
    ENTER(device);
    if (!has_value(device, K_mig_enabled)) return leave(NOT_SUPPORTED);
    *current = *pending = value_now(device, K_mig_enabled) > 0;
    return leave(SUCCESS);
}
EXPORT int nvmlDeviceGetMaxMigDeviceCount(device_t device, unsigned *out) { ENTER(device); *out = has_value(device, K_mig_enabled) ? 7 : 0; return leave(SUCCESS); }
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(device_t device, unsigned index, device_t *out) {
    ENTER(device);
    for (int i = 0; i < playing->slices; i++) {
        if (playing->slice[i].gpu != device->gpu || playing->slice[i].index != (int)index) continue;
        slice_device[i].gpu = device->gpu, slice_device[i].slice = i;
        *out = &slice_device[i];
        return leave(SUCCESS);
    }
    return leave(NOT_FOUND);
}
EXPORT int nvmlDeviceGetGpuInstanceId(device_t device, unsigned *out) {
    ENTER(device);
    if (device->slice < 0) return leave(INVALID_ARGUMENT);
    *out = playing->slice[device->slice].index + 1;
    return leave(SUCCESS);
}
EXPORT int nvmlDeviceIsMigDeviceHandle(device_t device, unsigned *out) { ENTER(device); *out = device->slice >= 0; return leave(SUCCESS); }

/* ---- processes ---- */

struct process_info { unsigned pid; unsigned long long memory; unsigned gpu_instance, compute_instance; };

static int processes(device_t device, int kind, unsigned *count, struct process_info *out) {
    unsigned found = 0, room = out ? *count : 0;
    for (int i = 0; i < playing->processes; i++) {
        const struct process *process = &playing->process[i];
        if (process->gpu != device->gpu || process->kind != kind) continue;
        if (device->slice >= 0 && process->slice != playing->slice[device->slice].index) continue;
        if (found < room) {
            out[found].pid = process->pid;
            out[found].memory = process->memory.terms ? (unsigned long long)play(&process->memory, i) : ~0ull;
            out[found].gpu_instance = process->slice < 0 ? ~0u : process->slice + 1u;
            out[found].compute_instance = process->slice < 0 ? ~0u : 0;
        }
        found++;
    }
    *count = found;
    return leave(found > room ? INSUFFICIENT_SIZE : SUCCESS);
}
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(device_t device, unsigned *count, struct process_info *out) { ENTER(device); return processes(device, 'c', count, out); }
EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v3(device_t device, unsigned *count, struct process_info *out) { ENTER(device); return processes(device, 'g', count, out); }
EXPORT int nvmlDeviceGetMPSComputeRunningProcesses_v3(device_t device, unsigned *count, struct process_info *out) { ENTER(device); return processes(device, 'm', count, out); }

struct process_sample { unsigned pid; unsigned long long timestamp; unsigned sm, memory, encoder, decoder; };
EXPORT int nvmlDeviceGetProcessUtilization(device_t device, struct process_sample *out, unsigned *count, unsigned long long since) {
    unsigned found = 0, room = out ? *count : 0;
    unsigned long long now = clock_seconds() * 1e6;
    ENTER(device);
    if (now <= since) return leave(NOT_FOUND);
    for (int i = 0; i < playing->processes; i++) {
        const struct process *process = &playing->process[i];
        if (process->gpu != device->gpu || !process->utilization) continue; /* there are no samples of idle processes */
        if (found < room) out[found] = (struct process_sample){process->pid, now, process->utilization, 0, 0, 0};
        found++;
    }
    *count = found;
    return leave(!found ? NOT_FOUND : found > room ? INSUFFICIENT_SIZE : SUCCESS);
}

/* ---- events ---- */

EXPORT int nvmlEventSetCreate(event_set_t *out) {
    ENTER_SYSTEM();
    if (!(*out = calloc(1, sizeof **out))) return leave(INSUFFICIENT_SIZE);
    (*out)->since = scenario_time();
    return leave(SUCCESS);
}
EXPORT int nvmlEventSetFree(event_set_t set) { free(set); return SUCCESS; }
EXPORT int nvmlDeviceGetSupportedEventTypes(device_t device, unsigned long long *out) { ENTER(device); *out = 8; return leave(SUCCESS); }
EXPORT int nvmlDeviceRegisterEvents(device_t device, unsigned long long types, event_set_t set) {
    ENTER(device);
    if (types & ~8ull) return leave(NOT_SUPPORTED);
    set->gpus |= 1u << device->gpu;
    return leave(SUCCESS);
}
struct event_data { device_t device; unsigned long long type, data; unsigned gpu_instance, compute_instance; };
static const struct event *next_event(const struct event_set *set) {
    const struct event *next = NULL;
    for (int i = 0; i < playing->events; i++) {
        const struct event *event = &playing->event[i];
        if (event->id <= set->delivered || event->at < set->since || event->at > scenario_time()) continue;
        if (event->gpu < 0 || event->gpu >= MAX_GPUS || !(set->gpus >> event->gpu & 1)) continue;
        if (!next || event->id < next->id) next = event;
    }
    return next;
}
EXPORT int nvmlEventSetWait_v2(event_set_t set, struct event_data *out, unsigned timeout_ms) {
    const struct event *event;
    double began = clock_seconds();
    ENTER_SYSTEM();
    while (!(event = next_event(set))) {
        struct timespec slice = {0, 1000000};
        if ((clock_seconds() - began) * 1e3 >= timeout_ms) return leave(TIMEOUT);
        pthread_mutex_unlock(&lock);
        nanosleep(&slice, NULL);
        pthread_mutex_lock(&lock);
        refresh();
    }
    set->delivered = event->id;
    *out = (struct event_data){&gpu_device[event->gpu], event->type, event->data, ~0u, ~0u};
    return leave(SUCCESS);
}

/* ---- GPM: activity between two samples ---- */

struct gpm_metric { unsigned id; int code; double value; const char *info[3]; };
struct gpm_get { unsigned version, count; sample_t first, second; struct gpm_metric metric[]; };

EXPORT int nvmlGpmQueryDeviceSupport(device_t device, unsigned out[2]) { ENTER(device); out[1] = has_value(device, K_gpm_sm_active); return leave(SUCCESS); }
EXPORT int nvmlGpmSampleAlloc(sample_t *out) { *out = calloc(1, sizeof **out); return *out ? SUCCESS : INSUFFICIENT_SIZE; }
EXPORT int nvmlGpmSampleFree(sample_t sample) { free(sample); return SUCCESS; }
EXPORT int nvmlGpmSampleGet(device_t device, sample_t sample) {
    ENTER(device);
    if (!has_value(device, K_gpm_sm_active)) return leave(NOT_SUPPORTED);
    sample->gpu = device->gpu, sample->slice = -1, sample->at = scenario_time();
    return leave(SUCCESS);
}
EXPORT int nvmlGpmMigSampleGet(device_t device, unsigned instance, sample_t sample) {
    ENTER(device);
    if (!has_value(device, K_gpm_sm_active)) return leave(NOT_SUPPORTED);
    for (int i = 0; i < playing->slices; i++) {
        if (playing->slice[i].gpu != device->gpu || playing->slice[i].index + 1 != (int)instance) continue;
        sample->gpu = device->gpu, sample->slice = i, sample->at = scenario_time();
        return leave(SUCCESS);
    }
    return leave(INVALID_ARGUMENT);
}
static void gpm_value(struct gpm_metric *metric, const sample_t sample) {
    static const struct { unsigned id; int key; enum activity activity; } known_ids[] = {
        {2, K_gpm_sm_active, SM_ACTIVE}, {3, K_gpm_sm_occupancy, SM_OCCUPANCY}, {5, K_gpm_tensor_active, TENSOR_ACTIVE},
        {10, K_gpm_dram_active, DRAM_ACTIVE}, {20, K_gpm_pcie_transmit, ACTIVITIES}, {21, K_gpm_pcie_receive, ACTIVITIES}};
    metric->code = NOT_SUPPORTED;
    for (unsigned k = 0; k < sizeof known_ids / sizeof *known_ids; k++) {
        const struct value *value = &playing->gpu[sample->gpu].value[known_ids[k].key];
        if (metric->id != known_ids[k].id) continue;
        if (sample->slice >= 0 && known_ids[k].activity == ACTIVITIES) continue;
        if (sample->slice >= 0) value = &playing->slice[sample->slice].activity[known_ids[k].activity];
        if (!value->terms) continue;
        metric->code = SUCCESS;
        metric->value = play(value, sample->gpu * 997 + known_ids[k].key * 7);
        if (known_ids[k].activity != ACTIVITIES) metric->value = fmin(100, metric->value);
    }
}
EXPORT int nvmlGpmMetricsGet(struct gpm_get *get) {
    ENTER(&gpu_device[get->second->gpu]);
    if (get->first->gpu != get->second->gpu || get->first->slice != get->second->slice) return leave(INVALID_ARGUMENT);
    for (unsigned i = 0; i < get->count; i++) gpm_value(&get->metric[i], get->second);
    return leave(SUCCESS);
}
