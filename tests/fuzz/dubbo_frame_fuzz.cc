// Whatever comes from a socket of the Dubbo protocol, read as server and as client.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "signpost/common/clock.h"
#include "signpost/common/url.h"
#include "signpost/metadata/dubbo/answer_frame.h"
#include "signpost/metadata/dubbo/frame.h"
#include "signpost/metadata/published_metadata.h"
#include "signpost/tests/fuzz/require.h"

namespace {

using signpost::MetadataInfo;
using signpost::PublishedMetadata;
using signpost::ServiceInfo;
using signpost::Url;

// What the questions in the corpus are after, so that they are answered with a document.
const PublishedMetadata& Published() {
  static const PublishedMetadata* const published = [] {
    auto* service = new PublishedMetadata("shop", signpost::Clock::Real());
    MetadataInfo info;
    info.app = "shop";
    info.revision = "r1";
    ServiceInfo echo;
    echo.name = echo.path = "org.example.Echo";
    echo.protocol = "tri";
    echo.port = 50051;
    echo.params["methods"] = "echo";
    info.services[echo.match_key()] = echo;
    service->Publish(info, {*Url::Parse("tri://192.0.2.1:50051/org.example.Echo?methods=echo")});
    return service;
  }();
  return *published;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using signpost::metadata_dubbo_internal::AnswerFrame;
  using signpost::metadata_dubbo_internal::DecodeAnswer;
  using signpost::metadata_dubbo_internal::DecodeErrorText;
  using signpost::metadata_dubbo_internal::FirstFrame;
  constexpr size_t kMaxBody = 64 << 10;

  absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (;;) {
    const auto frame = FirstFrame(bytes, kMaxBody);
    if (!frame.ok() || !frame->has_value()) return 0;
    const std::string answer = AnswerFrame(Published(), **frame);
    if (!answer.empty()) {
      // It is a whole frame, to the same request.
      const auto back = FirstFrame(answer, kMaxBody);
      FUZZ_REQUIRE(back.ok() && back->has_value() && (*back)->id == (*frame)->id);
      DecodeAnswer((*back)->body, signpost::hessian2::DecodeLimits()).IgnoreError();
    }
    DecodeAnswer((*frame)->body, signpost::hessian2::DecodeLimits()).IgnoreError();
    DecodeErrorText((*frame)->body);
    bytes.remove_prefix((*frame)->bytes());
  }
}
