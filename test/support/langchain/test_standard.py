"""LangChain's standard tests of chat models, for ChatOpenAI against the gateway, once for each shape of provider."""

import os

from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import ChatModelIntegrationTests


class _Standard(ChatModelIntegrationTests):
    MODEL = ""

    @property
    def chat_model_class(self):
        return ChatOpenAI

    @property
    def chat_model_params(self):
        return {
            "model": self.MODEL,
            "base_url": os.environ["GATEWAY_URL"],
            "api_key": os.environ["GATEWAY_KEY"],
            "logprobs": False,
        }

    @property
    def supports_json_mode(self):
        return True

    @property
    def model_override_value(self):
        return "openai"


class TestOpenAI(_Standard):
    MODEL = "openai"


class TestAnthropic(_Standard):
    MODEL = "anthropic"


class TestGoogle(_Standard):
    MODEL = "google"
