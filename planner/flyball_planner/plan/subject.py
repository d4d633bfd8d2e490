"""The plan's sections on the model and its training."""

from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.added_weights import added_parameters
from flyball_planner.models.transformer.counts import ParameterCounts, parameters
from flyball_planner.models.transformer.flops import flops_of_sample, forward_flops
from flyball_planner.models.transformer.growth import transformer_complexity
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.plan.plan import Count, ModelSection, TrainingSection
from flyball_planner.specification.specification import Specification
from flyball_planner.training import Method, Training

Subject = TransformerShape | ModelCost


def model_section(specification: Specification) -> ModelSection:
    """Return the model section: parameters by place, and the FLOPs of a sample."""
    subject, training = specification.subject, specification.training
    if isinstance(subject, ModelCost):
        return _of_cost(subject)
    counts = parameters(subject)
    trained = counts.total
    if training.method is not Method.FULL:
        trained = added_parameters(subject, training)
    return ModelSection(
        name=specification.model,
        family=f"{subject.kind.value} transformer",
        implementation="",
        parameters=counts.total,
        active_parameters=counts.active,
        trainable_parameters=trained,
        parameter_parts=_places(counts),
        forward_flops_per_sample=forward_flops(subject, training.sequence),
        training_flops_per_sample=flops_of_sample(subject, training),
        tokens_per_sample=training.sequence,
        tokens_per_parameter=training.samples * training.sequence / counts.active,
        inference_flops_per_sample=forward_flops(subject, training.sequence),
        complexity=transformer_complexity(subject),
    )


def _of_cost(cost: ModelCost) -> ModelSection:
    held = tuple(Count(block.name, block.repeats * block.parameters) for block in cost.blocks if block.parameters)
    return ModelSection(
        name=cost.model,
        family=cost.family,
        implementation=cost.implementation,
        parameters=cost.parameters,
        active_parameters=cost.parameters,
        trainable_parameters=cost.parameters,
        parameter_parts=held,
        forward_flops_per_sample=cost.forward_flops,
        training_flops_per_sample=cost.training_flops,
        tokens_per_sample=cost.tokens,
        tokens_per_parameter=None,
        inference_flops_per_sample=cost.inference_flops,
        complexity=cost.complexity,
    )


def _places(counts: ParameterCounts) -> tuple[Count, ...]:
    layers = (Count(f"{each.repeats} × {each.name}", each.total * each.repeats) for each in counts.layers)
    if not counts.distinct_layers:
        layers = (Count(f"{each.name}, shared", each.total) for each in counts.layers)
    places = (
        Count("embedding", counts.embedding),
        Count("positions", counts.positions),
        Count("embedding norm", counts.embedding_norm),
        *layers,
        Count("final norm", counts.final_norm),
        Count("output", counts.output),
        Count("other", counts.other),
    )
    return tuple(each for each in places if each.parameters)


def training_section(
    subject: Subject, training: Training, steps: int, learning_rate: float | None, basis: str
) -> TrainingSection:
    """Return the training section, without settings that do not apply to classical models."""
    gradient = trained_by_gradient(subject)
    # A classical model reads its data in several passes, which the training counts as samples.
    samples = subject.samples if isinstance(subject, ModelCost) and not gradient else training.samples
    return TrainingSection(
        global_batch=training.global_batch,
        sequence=training.sequence,
        samples=samples,
        tokens=samples * training.sequence,
        steps=steps,
        optimizer=training.optimizer.name if gradient else "",
        precision=training.precision.name if gradient else getattr(subject, "precision", ""),
        method=training.method.value if gradient else "",
        attention=f"{training.attention.value} attention" if isinstance(subject, TransformerShape) else "",
        framework=training.framework if gradient else "",
        compiled=training.compiled,
        learning_rate=learning_rate,
        learning_rate_basis=basis,
    )


def trained_by_gradient(subject: Subject) -> bool:
    """Return True if the model is trained in optimizer steps."""
    return isinstance(subject, TransformerShape) or subject.trained_by_gradient
