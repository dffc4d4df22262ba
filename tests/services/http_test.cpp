#include "larmor/services/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/services/service.h"

#include "tests/services/support/http_server.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal_of_address(const std::string& text) {
  try {
    HttpAddress::parse(text, "track.mlflow.uri");
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    return error.message();
  }
  return "";
}

TEST(HttpAddress, IsOfAServerAndHoldsNoSecret) {
  EXPECT_EQ(HttpAddress::parse("http://127.0.0.1:5000/", "k").base, "http://127.0.0.1:5000");
  EXPECT_EQ(HttpAddress::parse("https://host/mlflow", "k").base, "https://host/mlflow");
  EXPECT_THAT(refusal_of_address("mlruns"), HasSubstr("track.mlflow.uri is no address"));
  EXPECT_THAT(refusal_of_address("sqlite:///a.db"), HasSubstr("track.mlflow.uri is"));
  EXPECT_THAT(refusal_of_address("file:///tmp/mlruns"), HasSubstr("an address of file"));
  for (const char* const secret :
       {"http://me:secret@host", "http://secret@host", "http://host/?write_token=secret"}) {
    EXPECT_THAT(refusal_of_address(secret), HasSubstr("everybody would read"));
    EXPECT_THAT(refusal_of_address(secret), Not(HasSubstr("secret@"))) << "a message is kept in logs";
  }
}

TEST(HttpClient, SendsWhatProvesWhoAsksAndSaysItInNoMessage) {
  HttpServer server([](const HttpAsked& asked) {
    return asked.headers.contains("authorization") && asked.path == "/a"
               ? HttpAnswer{200, R"({"x": 1})"}
               : HttpAnswer{403, R"({"message": "no"})"};
  });
  HttpClient client(HttpAddress::parse(server.address(), "k"), {.headers = {"Authorization: Bearer secret"}});
  EXPECT_EQ(client.ask({.path = "/a", .body = "{}"}).json().at("x"), 1);
  try {
    client.ask({.path = "/b"});
    FAIL() << "a refusal is an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.message(), HasSubstr("refuses the key (403): no"));
    EXPECT_THAT(error.message(), Not(HasSubstr("secret")));
  }
  EXPECT_EQ(server.asked().front().headers.at("content-type"), "application/json");
}

TEST(HttpClient, TellsSilenceFromRefusal) {
  for (const int status : {408, 429, 500, 503}) {
    HttpServer server([status](const HttpAsked&) { return HttpAnswer{status, "later"}; });
    HttpClient client(HttpAddress::parse(server.address(), "k"), {});
    EXPECT_THROW(client.ask({.path = "/"}), ServiceUnreachable) << status;
  }
  std::string nobody;
  {
    nobody = HttpServer([](const HttpAsked&) { return HttpAnswer{}; }).address();
  }
  HttpClient client(HttpAddress::parse(nobody, "k"), {});
  EXPECT_THROW(client.ask({.path = "/"}), ServiceUnreachable);
}

TEST(HttpClient, FollowsNoRedirection) {
  HttpServer server([](const HttpAsked&) { return HttpAnswer{302, ""}; });
  HttpClient client(HttpAddress::parse(server.address(), "k"), {});
  EXPECT_THROW(client.ask({.path = "/"}), Error);
  EXPECT_EQ(server.asked().size(), 1U);
}

TEST(HttpClient, SendsAFileAsAForm) {
  HttpServer server([](const HttpAsked&) { return HttpAnswer{}; });
  HttpClient client(HttpAddress::parse(server.address(), "k"), {});
  client.ask(
      {.path = "/up", .form = {{.field = "files", .name = "a.png", .bytes = std::string("\0png", 4)}}});
  const auto asked = server.asked().front();
  EXPECT_THAT(asked.headers.at("content-type"), HasSubstr("multipart/form-data"));
  EXPECT_THAT(asked.body, HasSubstr("name=\"files\"; filename=\"a.png\""));
  EXPECT_THAT(asked.body, HasSubstr(std::string("\0png", 4)));
}

TEST(InPath, LeavesNoLetterThatHasAMeaning) { EXPECT_EQ(in_path("a b/c?d#é"), "a%20b%2Fc%3Fd%23%C3%A9"); }

}  // namespace
}  // namespace larmor::testing
