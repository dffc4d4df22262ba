// A server of HTTP on loopback, for one client at a time; what it answers a test says.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace larmor::testing {

struct HttpAsked {
  std::string method, path, body;
  std::map<std::string, std::string> headers;  // names in small letters
};

struct HttpAnswer {
  int status = 200;
  std::string body = "{}";
};

class HttpServer {
 public:
  explicit HttpServer(std::function<HttpAnswer(const HttpAsked&)> answer);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// "http://127.0.0.1:41234"
  std::string address() const;
  std::vector<HttpAsked> asked() const;

 private:
  void serve();
  void serve_connection(int connection);

  std::function<HttpAnswer(const HttpAsked&)> answer_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stops_{false};
  mutable std::mutex mutex_;
  std::vector<HttpAsked> asked_;
  std::thread thread_;
};

}  // namespace larmor::testing
