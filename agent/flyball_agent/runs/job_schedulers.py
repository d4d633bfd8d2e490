"""The run of a process by the job of a scheduler: Slurm, PBS, LSF, Flux, Grid Engine, or a job-mapping directory."""

from flyball_agent.runs.evidence import ProcessEvidence

_RESERVED_STEPS = 0xFFFF_FFF0  # slurm.h: batch script, extern, interactive … count down from 2^32
_NO_TASK = ("", "0", "undefined")  # of LSF and Grid Engine: the job is not an array


def by_slurm(evidence: ProcessEvidence) -> str:
    """Return the Slurm job and step; an array task is 1234_7.

    Without access to the environment the control group names the job.
    """
    environment = evidence.environment
    array, task = environment.get("SLURM_ARRAY_JOB_ID"), environment.get("SLURM_ARRAY_TASK_ID")
    job = f"{array}_{task}" if array and task else environment.get("SLURM_JOB_ID") or evidence.cgroup.slurm_job
    if not job:
        return ""
    step = srun_step(evidence)
    return f"slurm-{job}.{step}" if step else f"slurm-{job}"


def srun_step(evidence: ProcessEvidence) -> str:
    """Return the step if srun has started the process itself.

    mpirun starts its daemons as a step on all hosts but the first, and so the step would divide one run into two.
    """
    environment = evidence.environment
    by_mpirun = "OMPI_COMM_WORLD_RANK" in environment
    return "" if by_mpirun or "SLURM_PROCID" not in environment else slurm_step(environment.get("SLURM_STEP_ID", ""))


def slurm_step(step: str) -> str:
    """Return a numbered step; empty for a batch script and other reserved steps."""
    reserved = step.isascii() and step.isdecimal() and int(step) >= _RESERVED_STEPS
    return "" if reserved else step


def by_pbs(evidence: ProcessEvidence) -> str:
    """Return the PBS job. Its id contains the server."""
    job = evidence.environment.get("PBS_JOBID")
    return f"pbs-{job}" if job else ""


def by_lsf(evidence: ProcessEvidence) -> str:
    """Return the LSF job; an element of an array is 1234[7], as in bjobs."""
    job, index = evidence.environment.get("LSB_JOBID"), evidence.environment.get("LSB_JOBINDEX", "")
    if not job:
        return ""
    return f"lsf-{job}" if index in _NO_TASK else f"lsf-{job}[{index}]"


def by_flux(evidence: ProcessEvidence) -> str:
    """Return the Flux job."""
    job = evidence.environment.get("FLUX_JOB_ID")
    return f"flux-{job}" if job else ""


def by_grid_engine(evidence: ProcessEvidence) -> str:
    """Return the Grid Engine job. It sets the task id for each job, and other programs set JOB_ID too."""
    job, task = evidence.environment.get("JOB_ID"), evidence.environment.get("SGE_TASK_ID", "")
    if not job or not task:
        return ""
    return f"sge-{job}" if task in _NO_TASK else f"sge-{job}.{task}"


def by_job_mapping(evidence: ProcessEvidence) -> str:
    """Return the job to which the job-mapping directory assigns the GPUs of the process, if it is one job."""
    jobs = evidence.owners.jobs
    return f"job-{jobs[0]}" if len(jobs) == 1 else ""
