"""The families whose configurations can be read."""

from flyball_planner.models.transformer.huggingface.albert import ALBERT
from flyball_planner.models.transformer.huggingface.apertus import APERTUS, ARCEE
from flyball_planner.models.transformer.huggingface.bart import BART, MARIAN, MBART, PEGASUS
from flyball_planner.models.transformer.huggingface.bert import BERT, MPNET, ROBERTA, XLM_ROBERTA
from flyball_planner.models.transformer.huggingface.bloom import BLOOM
from flyball_planner.models.transformer.huggingface.cohere import COHERE, COHERE2
from flyball_planner.models.transformer.huggingface.dbrx import DBRX
from flyball_planner.models.transformer.huggingface.deberta import DEBERTA_V2
from flyball_planner.models.transformer.huggingface.deepseek import DEEPSEEK_V2, DEEPSEEK_V3
from flyball_planner.models.transformer.huggingface.distilbert import DISTILBERT
from flyball_planner.models.transformer.huggingface.electra import ELECTRA
from flyball_planner.models.transformer.huggingface.ernie import ERNIE, ERNIE_MOE
from flyball_planner.models.transformer.huggingface.exaone import EXAONE4
from flyball_planner.models.transformer.huggingface.falcon import FALCON
from flyball_planner.models.transformer.huggingface.gemma import GEMMA, GEMMA2, GEMMA3, GEMMA3_TEXT
from flyball_planner.models.transformer.huggingface.glm import GLM, GLM4, GLM4_MOE
from flyball_planner.models.transformer.huggingface.gpt2 import GPT2, GPT_BIGCODE
from flyball_planner.models.transformer.huggingface.gpt_neo import GPT_NEO
from flyball_planner.models.transformer.huggingface.gpt_neox import GPT_NEOX
from flyball_planner.models.transformer.huggingface.gpt_oss import GPT_OSS
from flyball_planner.models.transformer.huggingface.gptj import CODEGEN, GPTJ
from flyball_planner.models.transformer.huggingface.llama import (
    GRANITE,
    HELIUM,
    HUNYUAN,
    INTERNLM2,
    LLAMA,
    MISTRAL,
    SEED_OSS,
    SMOLLM3,
)
from flyball_planner.models.transformer.huggingface.llama4 import LLAMA4, LLAMA4_TEXT
from flyball_planner.models.transformer.huggingface.mixtral import GRANITE_MOE, MIXTRAL, PHIMOE
from flyball_planner.models.transformer.huggingface.modernbert import MODERNBERT
from flyball_planner.models.transformer.huggingface.mpt import MPT
from flyball_planner.models.transformer.huggingface.nemotron import NEMOTRON
from flyball_planner.models.transformer.huggingface.olmo import OLMO, OLMO2, OLMO3, OLMOE
from flyball_planner.models.transformer.huggingface.opt import OPT
from flyball_planner.models.transformer.huggingface.phi import PHI, PHI3
from flyball_planner.models.transformer.huggingface.qwen import QWEN2, QWEN2_MOE, QWEN3, QWEN3_MOE
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily
from flyball_planner.models.transformer.huggingface.stablelm import STABLELM
from flyball_planner.models.transformer.huggingface.starcoder2 import STARCODER2
from flyball_planner.models.transformer.huggingface.t5 import MT5, T5, UMT5
from flyball_planner.models.transformer.huggingface.vit import DEIT, DINOV2, SIGLIP_VISION, VIT

FAMILIES: tuple[ConfigFamily, ...] = (
    ALBERT, APERTUS, ARCEE, BART, BERT, BLOOM, CODEGEN, COHERE, COHERE2, DBRX, DEBERTA_V2, DEEPSEEK_V2, DEEPSEEK_V3,
    DEIT, DINOV2, DISTILBERT, ELECTRA, ERNIE, ERNIE_MOE, EXAONE4, FALCON, GEMMA, GEMMA2, GEMMA3_TEXT, GEMMA3, GLM, GLM4,
    GLM4_MOE, GPT2, GPTJ, GPT_BIGCODE, GPT_NEO, GPT_NEOX, GPT_OSS, GRANITE, GRANITE_MOE, HELIUM, HUNYUAN, INTERNLM2,
    LLAMA, LLAMA4_TEXT, LLAMA4, MARIAN, MBART, MISTRAL, MIXTRAL, MODERNBERT, MPNET, MPT, MT5, NEMOTRON, OLMO, OLMO2,
    OLMO3, OLMOE, OPT, PEGASUS, PHI, PHI3, PHIMOE, QWEN2, QWEN2_MOE, QWEN3, QWEN3_MOE, ROBERTA, SEED_OSS, SIGLIP_VISION,
    SMOLLM3, STABLELM, STARCODER2, T5, UMT5, VIT, XLM_ROBERTA,
)  # fmt: skip
