"""The entry for a registry of deployments."""

import json
from dataclasses import replace

import pytest

from shiftdp.last_iterate import Certificate
from shiftdp.last_iterate.assumptions import seeded_noise
from shiftdp.privacy.noisy_sums import NoisySum
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.privacy.statement import statement_of
from tests.privacy.statement.examples import KINDS, certificates, stated

FIELDS = {
    "basic": {
        "name", "data_curators", "description", "intended_use", "data_product_type",
        "data_product_region", "data_product_sector", "publication_date",
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        "privacy_unit", "privacy_unit_details", "number_of_privacy_units", "privacy_parameters",
        "privacy_parameters_details",
    },
    "deployment_model": {
        "model_name", "model_name_details", "trust_assumptions", "actors", "release_type",
        "release_type_details", "data_source_type", "data_source_type_details", "access_type",
        "access_type_details",
    },
    "implementation": {
        "preprocessing_and_hyperparameter_tuning", "mechanisms", "composition", "post_processing",
        "justification", "utility", "additional_information",
    },
    "administrative": {"evidence_sources", "status", "registry_authors", "tier"},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_fields_are_those_of_the_registry(kind: str) -> None:
    entry = stated(kind).registry()
    assert set(entry) == {"url_slug", "deployment"}
    assert {name: set(part) for name, part in entry["deployment"].items()} == FIELDS


@pytest.mark.parametrize("kind", KINDS)
def test_epsilon_is_not_below_the_certificates(kind: str) -> None:
    entry = stated(kind).registry()["deployment"]["privacy_loss"]["privacy_parameters"]
    epsilon = certificates()[kind].epsilon(1e-5)
    assert epsilon <= entry["epsilon"] <= epsilon * 1.001
    assert entry["delta"] == 1e-5


def test_what_is_released_and_from_what() -> None:
    model = stated("stream").registry()["deployment"]["deployment_model"]
    assert (model["release_type"], model["data_source_type"]) == ("Many releases", "Dynamic")
    model = stated("gd").registry()["deployment"]["deployment_model"]
    assert (model["release_type"], model["data_source_type"]) == ("One release", "Static")
    assert stated(about={"title": "A  b!"}).registry()["url_slug"] == "a-b"
    assert "1 noisy sums" in str(stated("pipeline").registry())


def test_a_run_whose_noise_came_from_a_seed_is_said_to_be_not_private() -> None:
    certificate = certificates()["gd"]
    assert isinstance(certificate, Certificate)
    seeded = replace(certificate, assumptions=(*certificate.assumptions, seeded_noise()))
    loss = statement_of(seeded).registry()["deployment"]["privacy_loss"]
    assert loss["privacy_parameters_details"].startswith("NOT PRIVATE")
    plain = stated("gd").registry()["deployment"]["privacy_loss"]
    assert "NOT PRIVATE" not in plain["privacy_parameters_details"]


def test_an_epsilon_without_end_is_a_text_as_json_has_no_such_number() -> None:
    words = NoisySum(kind="categories", column="town", noise=2.0, threshold=4.0)
    whole = PipelineCertificate(n=12, adjacency="replace_one", sums=(words,))
    entry = statement_of(whole, delta=1e-9).registry()
    assert entry["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == "inf"
    json.dumps(entry, allow_nan=False)
