#include "larmor/services/http.h"

#include <cctype>
#include <filesystem>
#include <system_error>
#include <utility>

#include <curl/curl.h>

#include "larmor/base/error.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"
#include "larmor/base/version.h"
#include "larmor/services/service.h"

namespace larmor {

namespace {

constexpr long connecting_seconds = 10, request_seconds = 60;
constexpr long first_refusal = 400, first_failure = 500, timed_out = 408, too_many = 429;

bool asks_for_another_try(long status) {
  return status >= first_failure || status == timed_out || status == too_many;
}

/// Of an answer that refuses: what the service says, in one line.
std::string said(const HttpReply& reply) {
  constexpr size_t most_letters = 300;
  auto words = reply.body;
  const auto json = Json::parse(reply.body, nullptr, false);
  if (json.is_object()) {
    for (const char* const name : {"message", "error", "detail"}) {
      if (const auto found = json.find(name); found != json.end() && found->is_string()) words = *found;
    }
  }
  if (words.size() > most_letters) words = words.substr(0, most_letters) + "…";
  return printable(words);
}

size_t take(const char* bytes, size_t, size_t count, void* into) {
  constexpr size_t most_bytes = size_t{8} << 20;
  auto& body = *static_cast<std::string*>(into);
  if (body.size() + count > most_bytes) return 0;
  body.append(bytes, count);
  return count;
}

/// The authorities that this machine trusts, where the library would not find them because it was built on
/// another distribution; "" where it does.
std::string authorities_of_machine(CURL* curl) {
  const char* of_library = nullptr;
  curl_easy_getinfo(curl, CURLINFO_CAINFO, &of_library);
  std::error_code unknown;
  if (of_library != nullptr && std::filesystem::exists(of_library, unknown)) return {};
  for (const char* const file : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                 "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    if (std::filesystem::exists(file, unknown)) return file;
  }
  return {};
}

[[noreturn]] void refuse_address(const std::string& key, const std::string& why) {
  fail(Exit::usage, text(key, " ", why), text(key, "=http://HOST:PORT or https://HOST"));
}

}  // namespace

HttpAddress HttpAddress::parse(const std::string& text, const std::string& key) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), &curl_url_cleanup);
  if (curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK)
    refuse_address(key, "is no address of a server");
  const auto part = [&](CURLUPart which) {
    char* value = nullptr;
    std::string copy;
    if (curl_url_get(url.get(), which, &value, 0) == CURLUE_OK) copy = value;
    curl_free(value);
    return copy;
  };
  const auto scheme = part(CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https")
    refuse_address(key, larmor::text("is an address of ", printable(scheme), ", not of an HTTP server"));
  if (part(CURLUPART_HOST).empty()) refuse_address(key, "has no host");
  if (!part(CURLUPART_USER).empty() || !part(CURLUPART_PASSWORD).empty() || !part(CURLUPART_QUERY).empty())
    refuse_address(key,
                   "has a user, a password or a query in it, which everybody would read who reads the "
                   "run folder; give secrets by the environment (docs/trackers.md)");
  HttpAddress address{part(CURLUPART_URL)};
  while (address.base.ends_with('/')) address.base.pop_back();
  return address;
}

struct HttpClient::Curl {
  Curl() : handle(curl_easy_init()) {}
  ~Curl() { curl_easy_cleanup(handle); }
  Curl(const Curl&) = delete;
  Curl& operator=(const Curl&) = delete;
  CURL* handle;
};

HttpClient::HttpClient(HttpAddress address, HttpSecrets secrets)
    : address_(std::move(address)), secrets_(std::move(secrets)), curl_(std::make_unique<Curl>()) {}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;

HttpReply HttpClient::send(const HttpRequest& request) {
  CURL* const curl = curl_->handle;
  curl_easy_reset(curl);  // the connection is kept
  const std::unique_ptr<curl_mime, decltype(&curl_mime_free)> form(
      request.form.empty() ? nullptr : curl_mime_init(curl), &curl_mime_free);
  curl_slist* list = nullptr;
  for (const auto& header : secrets_.headers) list = curl_slist_append(list, header.c_str());
  if (!form) list = curl_slist_append(list, text("Content-Type: ", request.type).c_str());
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(list, &curl_slist_free_all);
  for (const auto& file : request.form) {
    curl_mimepart* const part = curl_mime_addpart(form.get());
    curl_mime_name(part, file.field.c_str());
    curl_mime_filename(part, file.name.c_str());
    curl_mime_data(part, file.bytes.data(), file.bytes.size());
  }
  HttpReply reply;
  const auto url = address_.base + request.path;
  const auto agent = text("larmor/", version());
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_USERAGENT, agent.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, connecting_seconds);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, request_seconds);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reply.body);
  if (form) {
    curl_easy_setopt(curl, CURLOPT_MIMEPOST, form.get());
  } else if (request.method != "GET") {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  }
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (!secrets_.user.empty()) {
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(curl, CURLOPT_USERNAME, secrets_.user.c_str());
    curl_easy_setopt(curl, CURLOPT_PASSWORD, secrets_.password.c_str());
  }
  if (secrets_.accepts_any_certificate) {
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  const auto authorities =
      secrets_.certificates.empty() ? authorities_of_machine(curl) : secrets_.certificates;
  if (!authorities.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, authorities.c_str());
  const auto code = curl_easy_perform(curl);
  if (code != CURLE_OK)
    throw ServiceUnreachable(text(address_.base, " gives no answer: ", curl_easy_strerror(code)));
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply.status);
  if (asks_for_another_try(reply.status))
    throw ServiceUnreachable(text(address_.base, " answers ", reply.status, ": ", said(reply)));
  return reply;
}

HttpReply HttpClient::ask(const HttpRequest& request) {
  auto reply = send(request);
  constexpr long unauthorized = 401, forbidden = 403;
  if (reply.status == unauthorized || reply.status == forbidden)
    fail(Exit::environment, text(address_.base, " refuses the key (", reply.status, "): ", said(reply)),
         "give the key by the environment, as docs/trackers.md says for each service");
  if (reply.status >= first_refusal || reply.status < 200 || reply.status >= 300)
    fail(Exit::environment,
         text(address_.base, " refuses ", request.path, " (", reply.status, "): ", said(reply)),
         "see whether this is the address of that service and which version it has");
  return reply;
}

Json HttpReply::json() const {
  auto value = Json::parse(body, nullptr, false);
  if (value.is_discarded())
    throw ServiceUnreachable("an answer is no JSON: is that the address of the service?");
  return value;
}

std::string in_path(std::string_view part) {
  std::string safe;
  for (const char letter : part) {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' || letter == '_' ||
        letter == '.' || letter == '~') {
      safe += letter;
    } else {
      constexpr const char* digits = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(letter);
      safe += text('%', digits[byte >> 4U], digits[byte & 15U]);
    }
  }
  return safe;
}

}  // namespace larmor
