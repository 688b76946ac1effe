package hm

import (
	"context"
	"net/url"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/hypermedia"
	"github.com/loam-agents/loam/internal/space"
)

// ReadSite reads the document that stands at an address of the web: https://<gateway>/hm/<account>/<path>, or a path of a site that the
// server knows as an account's. It tells false when the address is neither, or nothing is there. The site itself is not asked.
func (s *Scheme) ReadSite(ctx context.Context, req space.ReadRequest) (out space.Result, found bool, err error) {
	u, err := url.Parse(req.Address)
	if err != nil || s.client == nil || u.Hostname() == "" {
		return nil, false, nil
	}
	path := strings.Trim(u.Path, "/")
	if strings.ContainsAny(path, "?#") {
		return nil, false, nil
	}
	if rest, ok := strings.CutPrefix(path, "hm/"); ok {
		if account, _, _ := strings.Cut(rest, "/"); hypermedia.IsAccount(account) {
			return s.readSite(ctx, req, rest, u.RawQuery)
		}
	}
	var domain struct{ RegisteredAccountUID string }
	err = s.client.Get(ctx, "GetDomain", url.Values{"domain": {u.Hostname()}}, &domain)
	switch {
	case hypermedia.Missing(err):
		return nil, false, nil
	case err != nil:
		return nil, false, hypermedia.Explain(err)
	case !hypermedia.IsAccount(domain.RegisteredAccountUID):
		return nil, false, nil
	}
	return s.readSite(ctx, req, domain.RegisteredAccountUID+"/"+path, u.RawQuery)
}

func (s *Scheme) readSite(ctx context.Context, req space.ReadRequest, path, query string) (space.Result, bool, error) {
	values, _ := url.ParseQuery(query) // what cannot be read names no version
	address := "hm://" + strings.TrimRight(path, "/")
	if v := values.Get("v"); v != "" {
		address += "?v=" + url.QueryEscape(v)
	}
	out, err := s.Read(ctx, space.Scope{}, space.ReadRequest{Address: address, Format: req.Format})
	if fault.CodeOf(err) == fault.NotFound || fault.CodeOf(err) == fault.ValidationFailed {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	out["requestedId"] = req.Address
	return out, true, nil
}
