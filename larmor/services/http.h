// Requests to a service over HTTP, by libcurl.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/base/json.h"

namespace larmor {

/// No member may hold a secret: messages of errors name the address.
struct HttpAddress {
  std::string base;  // "https://mlflow.hospital:5000", no slash at the end

  /// The address of what a person gives. Throws Error (usage), naming `key`: where it is neither http nor
  /// https, has no host, or has a user, a password or a query in it, which would then lie in the run folder.
  static HttpAddress parse(const std::string& text, const std::string& key);
};

struct HttpRequest {
  std::string method = "POST";
  std::string path;  // behind the address
  std::string body = {};
  std::string type = "application/json";
  /// A file's part of a form, in place of the body: the name of its field, of the file, its bytes.
  struct FormFile {
    std::string field, name, bytes;
  };
  std::vector<FormFile> form = {};
};

struct HttpReply {
  long status = 0;
  std::string body;
  /// Throws ServiceUnreachable where it is none.
  Json json() const;
};

/// What proves to a service who asks. It is never part of a message.
struct HttpSecrets {
  std::vector<std::string> headers = {};  // "Authorization: Bearer …"
  std::string user = {}, password = {};   // of basic authentication
  bool accepts_any_certificate = false;   // MLFLOW_TRACKING_INSECURE_TLS
  std::string certificates = {};          // a file of authorities, in place of the machine's
};

class HttpClient {
 public:
  HttpClient(HttpAddress address, HttpSecrets secrets);
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;

  /// Waits ten seconds for a connection and a minute for all. A proxy is taken from the environment
  /// (https_proxy, no_proxy); a redirection is not followed. Throws ServiceUnreachable where there is no
  /// answer, or one that says to try later (408, 429, 5xx); every other answer is given back.
  HttpReply send(const HttpRequest& request);
  /// The same; throws Error (environment) for an answer that refuses (4xx), with what the service says.
  HttpReply ask(const HttpRequest& request);

  const HttpAddress& address() const { return address_; }

 private:
  struct Curl;
  HttpAddress address_;
  HttpSecrets secrets_;
  std::unique_ptr<Curl> curl_;
};

/// A part of a path, with every letter that has a meaning there as %XX.
std::string in_path(std::string_view part);

}  // namespace larmor
