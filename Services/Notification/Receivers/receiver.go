// Receives Countersign's webhooks, with nothing but Go.
//
// usage: COUNTERSIGN_WEBHOOK_SECRET=whsec_… go run receiver.go PORT     (two secrets, with a space, while you rotate)
//
// With COUNTERSIGN_WEBHOOK_PUBLIC_KEY=whpk_… a signature by ed25519 (`v1a`) is as good as one by a secret.
package main

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const tolerance = 5 * time.Minute

type event struct {
	ID, Type, App, Environment string
	Customer                   struct {
		ID       string
		Sequence int64
	}
	Data struct{ Entries json.RawMessage }
}

// Yours are tables: written in one transaction with what an event does.
var (
	lock   sync.Mutex
	seen   = map[string]bool{}
	newest = map[string]int64{}
)

func isGenuine(headers http.Header, body []byte) bool {
	at, err := strconv.ParseInt(headers.Get("webhook-timestamp"), 10, 64)
	if off := time.Since(time.Unix(at, 0)); err != nil || off > tolerance || off < -tolerance {
		return false
	}
	// Over the bytes as they came: JSON that was read and written again is another text.
	signed := append([]byte(headers.Get("webhook-id")+"."+headers.Get("webhook-timestamp")+"."), body...)
	for _, given := range strings.Fields(headers.Get("webhook-signature")) {
		version, text, _ := strings.Cut(given, ",")
		signature, err := base64.StdEncoding.DecodeString(text)
		for _, secret := range strings.Fields(os.Getenv("COUNTERSIGN_WEBHOOK_SECRET")) {
			key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
			sum := hmac.New(sha256.New, key)
			sum.Write(signed)
			if version == "v1" && err == nil && hmac.Equal(sum.Sum(nil), signature) {
				return true
			}
		}
		public, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("COUNTERSIGN_WEBHOOK_PUBLIC_KEY"), "whpk_"))
		if version == "v1a" && len(public) == ed25519.PublicKeySize && ed25519.Verify(public, signed, signature) {
			return true
		}
	}
	return false
}

func take(e event) string {
	lock.Lock()
	defer lock.Unlock()
	if seen[e.ID] {
		return "seen before"
	}
	seen[e.ID] = true
	whose, standing := e.App+" "+e.Environment+" "+e.Customer.ID, "late"
	// Items are added whatever came before; where something stands is what the highest sequence says.
	if e.Customer.Sequence >= newest[whose] {
		newest[whose], standing = e.Customer.Sequence, "newest"
	}
	return fmt.Sprint(e.Type, " ", e.Customer.ID, " ", string(e.Data.Entries), " ", standing)
}

func main() {
	http.HandleFunc("/", func(answer http.ResponseWriter, request *http.Request) {
		var e event
		body, err := io.ReadAll(http.MaxBytesReader(answer, request.Body, 1<<20))
		if err != nil || !isGenuine(request.Header, body) || json.Unmarshal(body, &e) != nil {
			answer.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Println(take(e))
		answer.WriteHeader(http.StatusNoContent) // 2xx only when it is safe in your database.
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
