#!/bin/sh
# Makes the certificates of the TLS tests: two authorities, a server certificate of each for 127.0.0.1 and the name
# "kubernetes", and two client certificates of the first. Good for a hundred years; used by tests only.
set -eu
cd "$(dirname "$0")"
for ca in ca-1 ca-2; do
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 -subj "/CN=test $ca" \
    -addext basicConstraints=critical,CA:TRUE -keyout "$ca.key" -out "$ca.crt"
done
sign() { # name, authority, subject, extensions
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$3" -keyout "$1.key" -out "$1.csr"
  printf '%s\n' "$4" > "$1.ext"
  openssl x509 -req -in "$1.csr" -CA "$2.crt" -CAkey "$2.key" -CAcreateserial -days 36500 -extfile "$1.ext" -out "$1.crt"
  rm "$1.csr" "$1.ext"
}
sign server-1 ca-1 /CN=server "subjectAltName=IP:127.0.0.1,DNS:kubernetes"
sign server-2 ca-2 /CN=server "subjectAltName=IP:127.0.0.1,DNS:kubernetes"
sign server-named ca-1 /CN=server "subjectAltName=DNS:kubernetes"
sign client-1 ca-1 /CN=client-1 "extendedKeyUsage=clientAuth"
sign client-2 ca-1 /CN=client-2 "extendedKeyUsage=clientAuth"
rm -f ca-1.key ca-2.key ca-1.srl ca-2.srl
