#include "signpost/common/md5.h"

#include <openssl/evp.h>

#include "absl/strings/escaping.h"

namespace signpost {

std::array<uint8_t, 16> Md5(absl::string_view bytes) {
  std::array<uint8_t, 16> digest{};
  unsigned int length = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_md5(), nullptr);
  return digest;
}

std::string Md5Hex(absl::string_view bytes) {
  const auto digest = Md5(bytes);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

}  // namespace signpost
